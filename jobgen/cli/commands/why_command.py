"""The command `jobgen why`: shows the verdict on a job's files, all classes, or a class's page."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jobgen.cli.app import argument, columns, main, option
from jobgen.diagnosis.classes import classes, codes
from jobgen.diagnosis.engine import Source, diagnose
from jobgen.diagnosis.events import SCHEDULER, Verdict
from jobgen.diagnosis.files import is_job_folder, sources, text_source
from jobgen.diagnosis.report import as_json, as_line, as_text, no_cause
from jobgen.errors import JobgenError, problem, report
from jobgen.paths import to_path
from jobgen.quoting import quote
from jobgen.scripts.write import write

if TYPE_CHECKING:
    from jobgen.diagnosis.job_files import JobFiles
    from jobgen.diagnosis.nodes.many_jobs import Jobs


@main.command()
@argument("words", nargs=-1, metavar="FILE|FOLDER|JOBID|-|CLASS...")
@option("--format text|json|html", "Of the verdict; html: of --timeline alone.", default="text")
@option("--timeline", "Draw nodes and times: the first failure, and what followed.")
@option("--follow", "Watch a job until it ends, and say at once what goes wrong.", "follows")
@option("--line", "The verdict in one line, as a job's last line.")
@option("--all", "Also all that follows from the failure.", "everything")
@option("--report", "A mail to the site's administrators, if only they can mend it.", "mail")
@option("--host HOST[:FOLDER]", "Ask the scheduler there, by ssh, and fetch the job's files.")
@option("--list", "The classes of failure that it knows.", "listing")
def why(
    words: tuple[str, ...],
    format: str,
    timeline: bool,
    follows: bool,
    line: bool,
    everything: bool,
    mail: bool,
    host: str | None,
    listing: bool,
) -> int:
    """Find what failed first in a job, from its output.

    Reads the output of any job, not of jobgen's scripts alone: files, folders with a file for each
    rank, dumps of torch's flight recorder, or stdin (-). For a job's number, it reads the folder
    that the job left in jobgen-logs, and asks the scheduler for its output and its end. It prints
    the node and rank that failed first, the cause with the lines that show it, what to do, what is
    not the cause, and how sure that is. Of a job that still runs, it says since when no rank has
    written, and which was the last. `jobgen why CLASS` explains a class of failure. The exit code
    is 0 if a cause is found, 1 if none is, and 2 if a file cannot be read.
    """
    if listing:
        write(columns([(code, each.title) for code, each in classes().items()]))
        return 0
    if follows and not _follow(words, host):
        return 1  # the job ended well
    if line:
        return _show_line(words)
    if len(words) == 1 and words[0] in codes() and not os.path.lexists(to_path(words[0])):
        write(_class_page(words[0]))
        return 0
    if (not (mail or everything) or timeline) and (jobs := _several_jobs(words, timeline)):
        return _show_table(jobs, format)
    verdict = _verdict(words, host)
    if mail:
        return _show_mail(verdict)
    write(_shown(verdict, format, everything, timeline))
    _report_more(verdict, words)
    return 0 if verdict.code else 1


def _follow(words: Sequence[str], host: str | None) -> bool:
    from jobgen.diagnosis.live.follow import follow  # seldom needed

    return follow(words, host)


def _shown(verdict: Verdict, format: str, everything: bool, timeline: bool) -> str:
    """The verdict in a format, as a drawing if `timeline` is true."""
    if timeline:
        from jobgen.diagnosis.timeline.drawing import drawn  # seldom needed

        return drawn(verdict, format, everything)
    _refuse_html(format)
    return (as_json if format == "json" else as_text)(verdict, everything)


def _refuse_html(format: str) -> None:
    if format == "html":
        raise problem("--format", "only a timeline is written as HTML", "usage", "add --timeline")


def _several_jobs(words: Sequence[str], timeline: bool) -> Jobs:
    """The jobs in a folder that has the output of several, which no `timeline` shows."""
    if len(words) != 1 or not os.path.isdir(to_path(words[0])):
        return {}
    from jobgen.diagnosis.nodes.many_jobs import jobs_in  # most words name files

    jobs = jobs_in(words[0])
    if jobs and timeline:
        text = "it has the output of several jobs"
        raise problem(words[0], text, "usage", "name the output or the folder of one")
    return jobs


def _show_table(jobs: Jobs, format: str) -> int:
    """Write the verdicts on the jobs of a folder."""
    from jobgen.diagnosis.nodes.many_jobs import all_as_json, as_table, verdicts_on

    _refuse_html(format)
    verdicts = verdicts_on(jobs)
    write((all_as_json if format == "json" else as_table)(verdicts))
    return 0 if any(verdict.code for verdict in verdicts.values()) else 1


def _show_mail(verdict: Verdict) -> int:
    """Write the mail to the administrators; it is no matter of theirs without `send`."""
    from jobgen.diagnosis.nodes.mail import as_mail

    if verdict.send:
        write(as_mail(verdict))
        return 0
    cause = f"{verdict.code} is no matter of the administrators" if verdict.code else "no cause"
    report(f"no mail: {cause}; jobgen why without --report says what to do")
    return 1


def _report_more(verdict: Verdict, words: Sequence[str]) -> None:
    """Report batch scripts that are no output, and the last events of chains."""
    if not verdict.code:
        _report_scripts(words)
    _report_chains(words)


def _report_scripts(words: Sequence[str]) -> None:
    from jobgen.cli.mistakes.shell_words import directive_in

    for word in filter(directive_in, words):
        hint = f"write jobgen why FILE with what it wrote, or jobgen lint {quote(word)}"
        report(f"{word} is a batch script, and no output of a job; {hint}")


def _report_chains(words: Sequence[str]) -> None:
    """Report the last event of the chains whose states are named."""
    for word in words:
        if found := re.fullmatch(r"(.*/)?chain-(\d+)", word):
            from jobgen.runs.chains import last_event, read_state  # few words need it

            if event := last_event(read_state(to_path(word))):
                report(f"chain {found[2]}: its last event: {event.text}")


def _show_line(words: Sequence[str]) -> int:
    """Write the verdict in one line, whatever happens: scripts call this as their last command."""
    try:
        verdict = _verdict(words)
        line, status = as_line(verdict), 0 if verdict.code else 1
    except JobgenError as error:
        line, status = no_cause("; ".join(str(error).split("\n"))), 2
    except Exception as error:  # a job's last line must not be a traceback
        line, status = no_cause(f"jobgen why failed: {type(error).__name__}: {error}"), 2
    write(line)
    return status


class _Parts(NamedTuple):
    """The input that a word names: a job's folder or "", logs, and a job of a scheduler or None."""

    folder: str = ""
    logs: Iterable[Source] = ()
    job: JobFiles | None = None


def _verdict(words: Sequence[str], host: str | None = None) -> Verdict:
    if not words:
        raise problem("why", "no file", "usage", "name a file, a folder, a job's number, or -")
    parts = [_parts_there(word, host) if host else _parts(word) for word in words]
    folders = [part.folder for part in parts if part.folder]
    logs = chain.from_iterable(part.logs for part in parts)
    if len(folders) > 1:
        raise problem("why", "several jobs' folders", "usage", "name one job at a time")
    if folders:
        from jobgen.diagnosis.job_folder.verdict import diagnose_folder

        verdict = diagnose_folder(folders[0], logs)
    else:
        verdict = diagnose(logs)
        for word in (word for word in words if not os.path.lexists(to_path(word))):
            verdict = _in_chain(verdict, word, host)
    for part in parts:
        if part.job and part.job.status:
            verdict = _of_live_job(verdict, part.job, part.folder)
    return verdict


def _in_chain(verdict: Verdict, job: str, host: str | None = None) -> Verdict:
    """The verdict on a job that has left no folder, if it belongs to a chain."""
    from jobgen.diagnosis.chain_job import in_chain
    from jobgen.remote.files import logs_here
    from jobgen.runs.records import LOGS
    from jobgen.submission.login import parse_host

    return in_chain(verdict, logs_here(parse_host(host)) if host else Path(LOGS), job)


def _of_live_job(verdict: Verdict, job: JobFiles, folder: str) -> Verdict:
    """The verdict on a job that has not ended: its state and, if it runs, who wrote output last."""
    from jobgen.diagnosis.job_folder.silence import silence_notes

    state = f"the job is {job.status}"
    is_running = job.status and job.status.is_running
    notes = (*verdict.notes, *(silence_notes(folder, job.paths) if is_running else ()))
    if verdict.code or verdict.evidence:
        return verdict._replace(notes=(state, *notes))
    return verdict._replace(says=state, notes=notes)


def _parts(word: str) -> _Parts:
    if is_job_folder(word):
        return _Parts(word)
    if os.path.lexists(to_path(word)):
        return _Parts(logs=sources([word]))
    from jobgen.diagnosis.job_files import find_job_files, find_job_folder, is_job_id
    from jobgen.runs.records import LOGS

    if not is_job_id(word):
        return _Parts(logs=sources([word]))
    folder = find_job_folder(word)
    try:
        found = find_job_files(word)
    except JobgenError:
        if folder := folder or _folder_of_host(word):
            return _Parts(folder)  # the schedulers have forgotten the job
        if _in_chain(Verdict(None), word).notes:
            return _Parts()  # after a success, no folder is left
        raise
    names = [word, *found.numbers]  # a job of an array has its own number, too
    places = [LOGS, *(os.path.join(each, LOGS) for each in found.folders)]
    folders = (find_job_folder(name, places) for name in names)
    folder = folder or next(filter(None, folders), "")
    is_waiting = found.status and not found.status.is_running  # no output yet
    for path in found.missing if not (folder or is_waiting) else ():
        report(f"{path}: it cannot be read here")
    return _Parts(folder, _of_job(found), found)


def _folder_of_host(word: str) -> str:
    """The folder that came here of a job of another cluster; "" if there is none."""
    from jobgen.diagnosis.job_files import find_job_folder
    from jobgen.runs.records import LOGS, with_hosts

    found = (find_job_folder(word, [str(logs)]) for logs in with_hosts(Path(LOGS)))
    folders = list(filter(None, found))
    if len(folders) > 1:
        text = "jobs of several hosts have this number"
        raise problem(word, text, "job", f"name its folder: {', '.join(folders)}")
    return "".join(folders)


def _parts_there(word: str, host: str) -> _Parts:
    """The input of a job of another cluster, whose files come to the same places here."""
    from jobgen.diagnosis.job_files import find_job_files, find_job_folder, is_job_id
    from jobgen.remote.files import logs_here
    from jobgen.remote.job import fetch_job
    from jobgen.remote.place import login_of, reach

    if not is_job_id(word):
        text = f"{word!r:.80} is no job's number, and other files are here"
        raise problem("--host", text, "usage", "such as jobgen why 4711 --host login1")
    login, _ = reach(login_of(host))
    logs = [str(logs_here(login))]
    try:
        found = find_job_files(word, login)
    except JobgenError:
        fetch_job(login, [word])
        if folder := find_job_folder(word, logs):
            return _Parts(folder)  # the scheduler has forgotten the job
        raise
    names = [word, *found.numbers]
    paths = fetch_job(login, names, [*found.paths, *found.missing], found.folders)
    folder = next(filter(None, (find_job_folder(name, logs) for name in names)), "")
    found = replace(found, paths=tuple(paths), missing=())
    return _Parts(folder, _of_job(found), found)


def _of_job(found: JobFiles) -> Iterator[Source]:
    """The scheduler's facts about a job as a source, and its output files."""
    if found.facts:
        yield text_source(SCHEDULER, found.facts)
    yield from sources(found.paths)


def _class_page(code: str) -> str:
    each = classes()[code]
    advice = f"Cure: {each.cure_for_everybody}\nNot this: {each.misleads}\n"
    return f"{each.code}: {each.title}\n\n{advice}\n{each.page}\n"
