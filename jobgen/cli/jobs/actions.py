"""What each command that plans a job does; the functions return exit codes."""

from __future__ import annotations

import os
from typing import Any

from jobgen.cli.lookup.program_files import program_advice
from jobgen.cli.output_options import output_options
from jobgen.errors import problem, report
from jobgen.generator import Generator
from jobgen.paths import is_folder
from jobgen.planning.job_options import Job
from jobgen.planning.plan import Plan
from jobgen.schedulers import get_scheduler
from jobgen.scripts.write import make_folder, write


def run_job(command: str, fields: dict[str, Any]) -> int:
    """Run a command with the options, and the program, that are given."""
    output = {name: fields.pop(name) for name in output_options(command) if name in fields}
    if fields.get("profile") is None and command != "local":  # which has a default of its own
        fields["profile"] = default_profile()
    job = Job(command, **fields)
    if command == "qsub" and job.nodes and job.nodes[0].isalpha():  # as people know it of qsub
        text = f"{job.nodes!r:.60} is not a number of nodes"
        raise problem("-N", text, "value", "the option for the job's name is -J NAME")
    if command == "interactive":
        return interactive(job)
    return by_hand(job, **output) if command == "byhand" else generate(job, **output)


def default_profile() -> str | None:
    """The profile of a command without --profile."""
    return os.environ.get("JOBGEN_PROFILE") or None


def generate(
    job: Job,
    output: str | None = None,
    mkdir: str | None = None,
    submit: str | None = None,
    wait: str | None = None,
) -> int:
    """Write the script for a job; or submit it, and write it too if there is an `output`.

    With `mkdir`, the folder of the job's output is created first; with `wait`, the exit code is the
    job's.
    """
    generator = Generator()
    plan = generator.plan(job)
    script = generator.render(plan, job.template)
    submits = bool(submit or wait)
    if submits:
        from jobgen.submission.submit import check_submission

        check_submission(plan.scheduler, output)
    _prepare_output_folder(plan, bool(mkdir))
    _report_array(plan, job)
    for warning in (*generator.advice(job, plan), *program_advice(plan)):
        report(f"warning: {warning}")
    if not submits or output:
        write(script, output)
    if not submits:
        return 0
    from jobgen.cli.progress import Progress
    from jobgen.submission.submit import submit_script

    return submit_script(script, plan.scheduler, Progress if wait else None)


def _prepare_output_folder(plan: Plan, create: bool) -> None:
    scheduler = get_scheduler(plan.scheduler)
    folder = scheduler.output_folder(plan)
    if create and folder:
        make_folder(folder)
    elif create:
        report("--mkdir: the job's output needs no folder of its own")
    elif folder and (loss := scheduler.lost_without_folder(plan)) and not is_folder(folder):
        report(f"{loss}: create that folder first, or use --mkdir")


def _report_array(plan: Plan, job: Job) -> None:
    """Report what does not differ between the jobs of an array."""
    if not plan.request.array:
        return
    if plan.program.source and "%a" not in "".join(plan.program.arguments):
        hint = "use %a in the arguments for the array index"
        report(f"every job of the array runs the same command: {hint}")
    if any("%a" in text for text in job.environment):
        report(f"-e: %a is not expanded here; write ${plan.array_index}")


def by_hand(job: Job, output: str | None = None) -> int:
    """Write the commands that start a job host by host."""
    generator = Generator()
    hosts = generator.hosts(job)
    plan = generator.plan(job, hosts)
    lines = generator.render(plan, job.template)
    for warning in generator.advice(job, plan, len(hosts)):
        report(f"warning: {warning}")
    write(lines, output)
    return 0


def interactive(job: Job) -> int:
    """Write the command that requests a job's nodes and a shell on the first."""
    from jobgen.quoting import quote

    plan = Generator().plan(job)
    words = get_scheduler(plan.scheduler).interactive(plan)
    write(" ".join(map(quote, words)) + "\n")
    return 0
