"""The commands `jobgen runs`: what ran, from which inputs; what differs; the same again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jobgen.cli.app import TEXTS, Group, argument, columns, main, option
from jobgen.errors import JobgenError, nearest_hint, printable, problem, report
from jobgen.paths import is_same_file, to_path
from jobgen.quoting import quote
from jobgen.runs.comparison import code_changes, differences
from jobgen.runs.records import LOGS, logs_folder, read_records, with_hosts
from jobgen.runs.runs import Queue, Run, find_run, runs_of, shown_runs, state_among
from jobgen.runs.shown import HEADING, as_lines, as_values, row
from jobgen.scripts.write import write, write_to_stdout
from jobgen.submission.machine import HERE, Machine

if TYPE_CHECKING:
    from jobgen.diagnosis.events import Verdict

MOST_CAUSES = 50  # failed jobs of a list, the last ones, whose logs are read for the cause
_NOT_WELL = ("failed", "ended", "never", "stopped")  # the beginnings of such states


class _Runs(Group):
    """The group; words that begin with no command, such as a folder, are for `list`.

    So its help has the folder and the options of `list`, too.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        others = (*self.commands, "-h", "--help")
        is_list = not ctx.resilient_parsing and args and args[0] not in others
        return super().parse_args(ctx, ["list", *args] if is_list else args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return ["[OPTIONS]", "[FOLDER]", "|", "COMMAND", "[ARGS]..."]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        _list.format_options(ctx, formatter)


_HELP = f"""\
{TEXTS["runs"]}

Without a command, it is `list`. FOLDER is the one that the jobs were submitted from, or that of
their logs (--log-dir); the default is the working folder."""
runs = _Runs("runs", help=_HELP)
main.add_command(runs)
_folder = argument("folder", default=".", metavar="[FOLDER]")
_job = argument("job", metavar="JOBID")


@runs.command("list")
@_folder
@option("--host HOST[:FOLDER]", "The jobs there, whose records come to here by ssh.")
@option("--failed", "Only jobs that did not end well.", "only_failed")
@option("--json", "All that is known, for programs.", "as_json")
def _list(folder: str, host: str | None, only_failed: bool, as_json: bool) -> int:
    """The jobs that were submitted from a folder: when they ran, and how they ended.

    FOLDER is the one that they were submitted from, or that of their logs (--log-dir); the default
    is the working folder. The scheduler is asked once which jobs are still in its queue. The cause
    of a failed job is the class of failure that `jobgen why` finds in its logs.
    """
    machine = _fetched_from(host, folder) if host else HERE
    found = [
        run
        for run in _runs_in(folder, runs.commands)
        if not host or run.record.host == machine.name
    ]
    shown = list(_with_states(found, machine))
    if only_failed:
        shown = [(run, state) for run, state in shown if state.startswith(_NOT_WELL)]
    causes = _causes([run for run, _ in shown])
    rows = [(run, state, causes.get(run.id, "")) for run, state in shown]
    if as_json:
        write(json.dumps([as_values(*each) for each in rows], indent=2) + "\n")
    elif rows:
        write(columns([HEADING, *(row(*each) for each in rows)]))
    else:
        kind = "job that did not end well" if only_failed else "record of a job"
        place = f"{LOGS} of {host}" if host else logs_folder(to_path(folder))
        other = "; name another folder: of the submission, request.chdir or --log-dir"
        hint = "" if only_failed else other
        report(f"no {kind} is in {place}{hint * (host is None)}")
    return 0


@runs.command("show")
@_job
@_folder
def _show(job: str, folder: str) -> int:
    """All that is known of a job: its inputs, its end, and the verdict of `jobgen why`."""
    every = _runs_in(folder)
    run = find_run(every, job, logs_folder(to_path(folder)))
    lines = as_lines(run, state_among(run, every, _queue([run])))
    if run.record.status and not run.is_done and (verdict := _verdict(run)):
        from jobgen.diagnosis.report import as_line

        lines.append(("why", as_line(verdict).strip().removeprefix("jobgen: ")))
    write(columns(lines))
    return 0


@runs.command("diff")
@argument("one", metavar="JOBID")
@argument("other", metavar="JOBID")
@_folder
def _diff(one: str, other: str, folder: str) -> int:
    """What differs between two jobs: options, versions, environment, code, nodes.

    Of the code, the lines that differ are shown if both jobs ran a copy (--code) that is still in
    the store. The exit code is 0 if nothing differs, and 1 if something does.
    """
    old, new = (_run_of(job, folder) for job in (one, other))
    found = dict(differences(old, new))
    for heading, lines in found.items():
        write("".join(f"{printable(line)}\n" for line in (f"{heading}:", *lines)))
    if "code" in found:
        from jobgen.repository.diff import shown_line

        try:
            write("".join(map(shown_line, code_changes(old, new))))
        except JobgenError as error:
            report(f"the code cannot be compared: {error}")
    return 1 if found else 0


@runs.command("again")
@_job
@_folder
def _again(job: str, folder: str) -> int:
    """The script that a job ran, byte for byte, to run it again from the same code.

    If the script, its copy of the code or its environment is gone or was changed, the error says
    how to get it back. Submit it in the folder that the job was submitted from. Examples:

      jobgen runs again 12 | sbatch
      jobgen runs again 12 ~/bert | (cd ~/bert && sbatch)
    """
    from jobgen.runs.inputs import script_again

    run = _run_of(job, folder)
    write_to_stdout(script_again(run))
    if run.record.host:
        report(f"it ran on {run.record.host}: submit it there")
    elif (place := run.submission_folder) and not is_same_file(place, Path.cwd()):
        command = {"pbs": "qsub", "local": "bash"}.get(run.facts.scheduler, "sbatch")
        report(f"submit it where it ran: … | (cd {quote(str(place))} && {command})")
    return 0


def _run_of(job: str, folder: str) -> Run:
    return find_run(_runs_in(folder), job, logs_folder(to_path(folder)))


def _runs_in(folder: str, commands: Iterable[str] = ()) -> list[Run]:
    """The jobs of a folder. Raises JobgenError; `commands` may be meant by the word."""
    path = to_path(folder)
    if not os.path.isdir(path):
        hint = "" if commands else "the last word is the folder of the records, and no other job"
        if commands and "/" not in folder:
            hint = nearest_hint(folder, commands)
        raise problem(folder, "no such folder", "unreadable", hint)
    return runs_of([each for logs in with_hosts(logs_folder(path)) for each in read_records(logs)])


def _fetched_from(host: str, folder: str) -> Machine:
    from jobgen.remote.job import fetch_records  # needs ssh, which most lists do not

    if folder != ".":
        text = "the records come to the working folder"
        raise problem(folder, text, "usage", f"write --host {host.partition(':')[0]}:FOLDER")
    return fetch_records(host)


def _with_states(found: Sequence[Run], machine: Machine) -> Iterator[tuple[Run, str]]:
    """Each job to show, with its state; of a job of another host, it is the last one recorded."""
    own = [run for run in found if run.record.host == machine.name]
    others = [run for run in found if run.record.host != machine.name]
    for jobs, queue in ((own, _queue(own, machine)), (others, None)):
        yield from ((run, run.state(queue)) for run in shown_runs(jobs, queue))


def _queue(own: Iterable[Run], machine: Machine = HERE) -> Queue:
    """The user's jobs in the queue of a machine; nobody is asked if all of them have ended."""
    from jobgen.submission.queues.own_jobs import running

    is_asked = any(run.may_be_queued and run.record.host == machine.name for run in own)
    return running(machine) if is_asked else None


def _verdict(run: Run) -> Verdict | None:
    """The verdict on a job whose logs are there."""
    from jobgen.diagnosis.job_folder.verdict import diagnose_folder

    folder = run.record.job_folder
    with suppress(JobgenError):
        return diagnose_folder(str(folder)) if folder and os.path.isdir(folder) else None
    return None


def _causes(shown: Sequence[Run]) -> dict[str, str]:
    """The class of failure of the last jobs that failed, by their ids."""
    failed = [run for run in shown if run.has_failed][-MOST_CAUSES:]
    verdicts = {run.id: _verdict(run) for run in failed}
    return {job: verdict.code for job, verdict in verdicts.items() if verdict and verdict.code}
