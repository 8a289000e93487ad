"""What `jobgen why` does: the verdict on a job's files, the classes, a class's page."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import chain

from jobgen.cli.lookup.text import columns
from jobgen.diagnosis.engine import Source, diagnose
from jobgen.diagnosis.files import sources, text_source
from jobgen.diagnosis.report import as_json, as_text
from jobgen.errors import problem, report
from jobgen.paths import to_path
from jobgen.scripts.write import write


def show_verdict(words: Sequence[str], format: str, everything: bool) -> int:
    """Write what failed first in the job whose output these are; 1 if no cause is found."""
    if not words:
        raise problem("why", "no file", "usage", "name a file, a folder, a job's number, or -")
    verdict = diagnose(chain.from_iterable(map(_sources, words)))
    write((as_json if format == "json" else as_text)(verdict, everything))
    return 0 if verdict.code else 1


def _sources(word: str) -> Iterator[Source]:
    """The logs that a word means, and what the scheduler says of a job."""
    from jobgen.diagnosis.job_files import find_job_files, is_job_id

    if not is_job_id(word) or os.path.lexists(to_path(word)):
        yield from sources([word])
        return
    found = find_job_files(word)
    if found.facts:
        yield text_source("scheduler", found.facts)
    for path in found.missing:
        report(f"{path}: it cannot be read here")
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
