"""The input that a person names: files, folders, numbers of jobs, here or on another cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jobgen.diagnosis.engine import Source, diagnose
from jobgen.diagnosis.events import SCHEDULER, Verdict
from jobgen.diagnosis.files import is_job_folder, only_job_folder, sources, text_source
from jobgen.errors import JobgenError, problem, report
from jobgen.paths import to_path

if TYPE_CHECKING:
    from jobgen.diagnosis.job_files import JobFiles

Report = Callable[[str], None]


class _Parts(NamedTuple):
    """The input that a word names: a job's folder or "", logs, and a job of a scheduler or None."""

    folder: str = ""
    logs: Iterable[Source] = ()
    job: JobFiles | None = None


def verdict_on_words(words: Sequence[str], host: str | None = None) -> Verdict:
    """The verdict on files, or on jobs of this machine or of a host. Raises JobgenError.

    Files that a job should have, and that are not here, are reported.
    """
    if not words:
        raise problem("why", "no file", "usage", "name a file, a folder, a job's number, or -")
    parts = [_parts(word) if host is None else _parts_there(word, host) for word in words]
    jobs = [word for word in words if not os.path.lexists(to_path(word))]
    return _joined(parts, jobs, _logs(host) if jobs else Path())


def verdict_on_job(job: str, logs: Path) -> Verdict:
    """The verdict on a job of this machine whose records are in the folder `logs`."""
    return _joined([_parts_of_job(job, logs, lambda _: None)], [job], logs)


def _joined(parts: Sequence[_Parts], jobs: Sequence[str], logs: Path) -> Verdict:
    folders = [part.folder for part in parts if part.folder]
    files = chain.from_iterable(part.logs for part in parts)
    if len(folders) > 1:
        raise problem("why", "several jobs' folders", "usage", "name one job at a time")
    if folders:
        from jobgen.diagnosis.job_folder.verdict import diagnose_folder

        verdict = diagnose_folder(folders[0], files)
    else:
        verdict = diagnose(files)
        if jobs:
            from jobgen.diagnosis.chain_job import in_chain  # they have left no folder

            for job in jobs:
                verdict = in_chain(verdict, logs, job)
    for part in parts:
        if part.job and part.job.status:
            verdict = _of_live_job(verdict, part.job, part.folder)
    return verdict


def _logs(host: str | None) -> Path:
    """The folder of the records of jobs that were submitted here, perhaps to a host."""
    from jobgen.runs.records import LOGS

    if host is None:
        return Path(LOGS)
    from jobgen.remote.files import logs_here
    from jobgen.submission.login import parse_host

    return logs_here(parse_host(host))


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
        folder = only_job_folder(word)
        return _Parts(folder) if folder else _Parts(logs=sources([word]))
    from jobgen.diagnosis.job_files import is_job_id

    if not is_job_id(word):
        return _Parts(logs=sources([word]))
    return _parts_of_job(word, _logs(None), report)


def _parts_of_job(job: str, logs: Path, report_missing: Report) -> _Parts:
    from jobgen.diagnosis.chain_job import in_chain
    from jobgen.diagnosis.job_files import find_job_files, find_job_folder
    from jobgen.runs.records import LOGS

    folder = find_job_folder(job, [str(logs)])
    try:
        found = find_job_files(job)
    except JobgenError:
        if folder := folder or _folder_of_host(job, logs):
            return _Parts(folder)  # the schedulers have forgotten the job
        if in_chain(Verdict(None), logs, job).notes:
            return _Parts()  # after a success, no folder is left
        raise
    names = [job, *found.numbers]  # a job of an array has its own number, too
    places = [str(logs), *(os.path.join(each, LOGS) for each in found.folders)]
    folders = (find_job_folder(name, places) for name in names)
    folder = folder or next(filter(None, folders), "")
    is_waiting = found.status and not found.status.is_running  # no output yet
    for path in found.missing if not (folder or is_waiting) else ():
        report_missing(f"{path}: it cannot be read here")
    return _Parts(folder, _of_job(found), found)


def _folder_of_host(job: str, logs: Path) -> str:
    """The folder that came here of a job of another cluster; "" if there is none."""
    from jobgen.diagnosis.job_files import find_job_folder
    from jobgen.runs.records import with_hosts

    found = (find_job_folder(job, [str(each)]) for each in with_hosts(logs))
    folders = list(filter(None, found))
    if len(folders) > 1:
        text = "jobs of several hosts have this number"
        raise problem(job, text, "job", f"name its folder: {', '.join(folders)}")
    return "".join(folders)


def _parts_there(word: str, host: str) -> _Parts:
    """The input of a job of another cluster, whose files come to the same places here."""
    from dataclasses import replace  # slow to import

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
