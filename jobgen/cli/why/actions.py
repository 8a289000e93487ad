"""What `jobgen why` does: the verdict on a job's files, the classes, a class's page."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from jobgen.cli.lookup.text import columns
from jobgen.diagnosis.engine import Source, diagnose
from jobgen.diagnosis.events import Verdict
from jobgen.diagnosis.files import SCHEDULER, sources, text_source
from jobgen.diagnosis.job_folder import diagnose_folder, is_job_folder
from jobgen.diagnosis.one_line import as_line, no_cause
from jobgen.diagnosis.report import as_json, as_text
from jobgen.errors import JobgenError, problem, report
from jobgen.paths import to_path
from jobgen.scripts.write import write

if TYPE_CHECKING:
    from jobgen.diagnosis.job_files import JobFiles


def show_verdict(words: Sequence[str], format: str, everything: bool) -> int:
    """Write what failed first in the job whose output these are; 1 if no cause is found."""
    verdict = _verdict(words)
    write((as_json if format == "json" else as_text)(verdict, everything))
    return 0 if verdict.code else 1


def show_line(words: Sequence[str]) -> int:
    """The same in one line, whatever happens: it is the last one of a job's output."""
    try:
        verdict = _verdict(words)
        line, status = as_line(verdict), 0 if verdict.code else 1
    except JobgenError as error:
        line, status = no_cause("; ".join(str(error).split("\n"))), 2
    except Exception as error:  # a job's last line is no traceback
        line, status = no_cause(f"jobgen why failed: {type(error).__name__}: {error}"), 2
    write(line)
    return status


def _verdict(words: Sequence[str]) -> Verdict:
    if not words:
        raise problem("why", "no file", "usage", "name a file, a folder, a job's number, or -")
    parts = [_parts(word) for word in words]
    folders = [folder for folder, _ in parts if folder]
    logs = chain.from_iterable(each for _, each in parts)
    if len(folders) > 1:
        raise problem("why", "several jobs' folders", "usage", "name one job at a time")
    return diagnose_folder(folders[0], logs) if folders else diagnose(logs)


def _parts(word: str) -> tuple[str, Iterator[Source]]:
    """A job's folder, if a word means one, and the logs and scheduler's lines that it means."""
    from jobgen.diagnosis.job_files import find_job_files, find_job_folder, is_job_id

    if is_job_folder(word):
        return word, iter(())
    if not is_job_id(word) or os.path.lexists(to_path(word)):
        return "", sources([word])
    folder = find_job_folder(word)
    try:
        found = find_job_files(word)
    except JobgenError:
        if folder:
            return folder, iter(())  # no scheduler knows the job any more
        raise
    names = [word, *found.numbers]  # a job of an array has a number of its own
    folders = (find_job_folder(name, ("", *found.folders)) for name in names)
    folder = folder or next(filter(None, folders), "")
    for path in found.missing if not folder else ():
        report(f"{path}: it cannot be read here")
    return folder, _of_job(found)


def _of_job(found: JobFiles) -> Iterator[Source]:
    """What the scheduler says of a job, and its output."""
    if found.facts:
        yield text_source(SCHEDULER, found.facts)
    yield from sources(found.paths)


def list_classes() -> int:
    """Write all classes of failure, with what fails."""
    from jobgen.diagnosis.classes import classes

    write(columns([(code, each.title) for code, each in classes().items()]))
    return 0


def show_class(word: str) -> int | None:
    """Write the page of a class; None if the word is no class, or names a file."""
    from jobgen.diagnosis.classes import classes, codes

    if word not in codes() or os.path.lexists(to_path(word)):
        return None
    each = classes()[word]
    cure = f"\nCure: {each.cure}\n" if each.cure else ""
    misleads = f"Not this: {each.misleads}\n" if each.misleads else ""
    write(f"{each.code}: {each.title}\n\n{each.page}\n{cure}{misleads}")
    return 0
