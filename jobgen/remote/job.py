"""What a job on another cluster needs there before it is submitted, and what comes back from it."""

from __future__ import annotations

from collections.abc import Sequence

from jobgen.code_store.code import Code
from jobgen.errors import JobgenError, printable, problem, report
from jobgen.planning.plan import Plan
from jobgen.quoting import names_set, quote, quote_path
from jobgen.remote.code import send_codes
from jobgen.remote.files import (
    existing_outputs,
    fetch_files,
    fetch_logs,
    left_by,
    logs_here,
)
from jobgen.remote.place import login_of, place_there, reach
from jobgen.runs.records import LOGS, read_records
from jobgen.schedulers import get_scheduler
from jobgen.submission.login import Login
from jobgen.submission.queues.job_queue import JobStatus, get_queue
from jobgen.submission.submit import submit_script

MOST_OUTPUTS = 50  # of the jobs of an array that come here; each needs a connection
# Waits for an sbatch or qsub of a run that was killed here (submit_once.sh), a minute at most.
_AWAIT = """\
while [[ $(find .jobgen/submissions -mindepth 1 -maxdepth 1 -type d -mmin -1 \\
  ! -exec test -e {}/status \\; -print 2> /dev/null) ]]; do sleep 0.2; done
"""


def submit_there(
    host: str,
    plan: Plan,
    script: str,
    codes: Sequence[tuple[str, str, Code]],
    follows: bool,
    mkdir: bool,
) -> JobStatus:
    """Submit a job on a login node, as `submit_script` does; send what it needs, and fetch its end.

    `codes` are those of CodeCopies. With `mkdir`, the folder of its output is made there.
    """
    login, logs = prepare(login_of(host), [plan], mkdir), logs_of(plan)
    send_codes(login, codes)
    place = place_there(login, logs)
    status = submit_script(script, plan.scheduler, follows, logs_here(login, logs), login, place)
    return bring_back(login, status, logs) if follows and status.job else status


def prepare(login: Login, plans: Sequence[Plan], mkdir: bool = False) -> Login:
    """The login node, with the folder in which jobs of these plans can be submitted.

    The plans are for one scheduler. With `mkdir`, the folders of the jobs' output are made, too.
    Raises JobgenError if the node does not answer, if it lacks the scheduler's command, or a
    program.
    """
    scheduler = get_scheduler(plans[0].scheduler)
    folders = list[str]()
    checks = dict[str, tuple[Plan, str]]()  # what each needs, by the test for it
    for plan in plans:
        if output := scheduler.output_folder(plan):
            make = f" || mkdir -p -- {quote(output)}" if mkdir else ""
            checks[f"[[ -d {quote(output)} ]]{make}"] = plan, ""
        if program := _program_there(plan):
            chdir = plan.request.chdir or "."
            folders.append(chdir)
            checks[f"(cd -- {quote_path(chdir)} && [[ -f {quote(program)} ]])"] = plan, program
    names = names_set(*folders)
    tests = "\n".join(f"{test} || echo {number}" for number, test in enumerate(checks))
    command = get_queue(plans[0].scheduler).submit[0]
    login, lacking = reach(login, command, makes_folder=True, then=names + _AWAIT + tests)
    for number, (plan, program) in enumerate(checks.values()):
        if str(number) not in lacking:
            continue
        if program:
            hint = "--code . sends this folder's files; or copy it there"
            raise problem("--host", f"there is no {program} on {login.name}", "program", hint)
        if loss := scheduler.lost_without_folder(plan):
            report(f"{loss}: create that folder on {login.name} first, or use --mkdir")
    return login


def _program_there(plan: Plan) -> str:
    """The program's file, if the job needs it and nothing brings it there; else ""."""
    name = plan.program.name
    is_brought = plan.software.workspace and not name.startswith("/")
    needs_file = plan.program.is_file or (plan.program.kind == "command" and "/" in name)
    is_known = "$" not in name and not plan.software.container
    return name if needs_file and is_known and not is_brought else ""


def logs_of(plan: Plan) -> str:
    """The folder of a job's record, from its folder there; it may have $NAME."""
    logs, chdir = plan.request.log_folder or LOGS, plan.request.chdir
    return f"{chdir}/{logs}" if chdir and not logs.startswith(("/", "$", "~")) else logs


def fetch_records(host: str) -> Login:
    """Copy the records of the jobs in a folder there to the host's folder here.

    Those of jobs that were sent from here to other folders there come, too, unless they have ended.
    """
    login, _ = reach(login_of(host))
    fetch_logs(login)
    here, own = logs_here(login), "" if login.lacks_folder else f"{login.folder}/{LOGS}"
    records = [each for each in read_records(here) if each.logs_there and each.end is None]
    for place in dict.fromkeys(each.logs_there for each in records):
        if place != own:
            try:
                fetch_logs(login, place, here=here)
            except JobgenError as error:
                report(str(error))
    return login


def fetch_job(
    login: Login, names: Sequence[str], outputs: Sequence[str] = (), folders: Sequence[str] = ()
) -> list[str]:
    """Copy what is known of a job to here; returns its output files here.

    `names` are its numbers; `folders` are those there that it may have been submitted from.
    """
    patterns = [pattern for name in names for pattern in left_by(name)]
    places = dict.fromkeys([login.folder, *(each.replace("$", "$$") for each in folders)])
    here = logs_here(login)  # since the node names the folders
    for folder in places:
        fetch_logs(login, f"{folder}/{LOGS}", patterns, here)
    return fetch_files(login._replace(folder=[*places][-1]), outputs)


def bring_back(login: Login, status: JobStatus, logs: str) -> JobStatus:
    """Copy a job's outputs, records and, after a failure, its folders to here.

    The outputs are those of all jobs of an array that ran; the status has the place here of the
    one that it names, or of another one. An error is reported: it is none of the job's.
    """
    came = list[str]()
    try:
        came = fetch_files(login, _outputs(login, status))
        fetch_logs(login, logs, left_by(status.job, records_only=not status.exit_status))
    except (JobgenError, OSError) as error:
        report(str(error))
    if len(came) > 1:
        report(f"job {status.job}: its {len(came)} output files came here, such as {came[0]}")
    return status._replace(output=came[0] if came else "")


def _outputs(login: Login, status: JobStatus) -> list[str]:
    """The outputs there: first that of the status, then those of jobs that failed."""
    jobs = sorted(status.array_jobs, key=lambda job: not job.exit_status)
    names = dict.fromkeys([status.output, *(job.output for job in jobs)])
    found = existing_outputs(login, [name for name in names if name])
    if more := found[MOST_OUTPUTS:]:
        report(f"{len(more)} more output files are on {login.name}, such as {printable(more[0])}")
    return found[:MOST_OUTPUTS]
