"""Finds since when no rank of a running job has written, which rank wrote last, and its last line.

The age of a file comes from the clock of its file system, which may differ from this machine's.
"""

import os
import re
import time
from collections.abc import Iterable, Iterator

from jobgen.diagnosis.job_folder.layout import changed, read_layout, read_plain, read_start
from jobgen.diagnosis.job_folder.ranks import number_ranks
from jobgen.diagnosis.job_folder.sources import label_of
from jobgen.diagnosis.judging.places import name_of
from jobgen.diagnosis.lines.labels import Label, Labeller, plain
from jobgen.diagnosis.report import shortened

_LAST = 50_000  # bytes read at the end of a file
_SHOWN = 160  # characters shown of a line
_STALL = re.compile(r"^stall=(\d{1,9})\b", re.MULTILINE)
_OWN = re.compile(r"(?:jobgen|srun|slurmstepd|sbatch): ")
_PARTS = (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))


def silence_notes(folder: str, logs: Iterable[str]) -> list[str]:
    """Sentences that answer a person who asks about a job that seems to hang.

    `folder` is the job's folder, or ""; `logs` is its output, used if no rank has a file.
    """
    lines = [line for path, label in rank_files(folder) if (line := _last_line(path, label))]
    if not lines:
        paths = [*logs, *[os.path.join(folder, "stderr")] * bool(folder)]
        lines = [line for path in paths if (line := _last_line(path, Label()))]
    if not lines:
        return ["no rank has written a line yet"]
    changed_at, label, text = max(lines, key=lambda line: line[0])
    age = max(0.0, time.time() - changed_at)
    who = name_of(label.node, label.rank, label.local_rank)
    silence = f"no rank has written for {in_words(age)}; the last {f'was {who}' if who else 'line'}"
    return [f"{silence}: {shortened(text, _SHOWN)}", *_stall_note(folder, int(age // 60))]


def last_words(path: str) -> str:
    """The last line of a job's output that is neither the script's own nor srun's; or ""."""
    lines = re.split(rb"[\r\n]+", read_plain(path, _LAST, at_end=True))
    texts = (plain(line) for line in reversed(lines) if line.strip())
    return shortened(next((t.strip() for t in texts if not _OWN.match(t)), ""), _SHOWN)


def in_words(seconds: float) -> str:
    """A length of time as a person says it, in its largest unit: `5 minutes`."""
    for name, unit in _PARTS:
        if seconds >= unit:
            count = int(seconds // unit)
            return f"{count} {name}{'s' * (count > 1)}"
    return "less than a second"


def rank_files(folder: str) -> Iterator[tuple[str, Label]]:
    """The log files of each rank's last start, each with the rank's label."""
    if not folder:
        return
    found = read_layout(folder)
    number_ranks(found)
    for each in found.ranks:
        for name in sorted(each.names & {"stdout.log", "stderr.log"}):
            yield os.path.join(each.path, name), label_of(each)


def _last_line(path: str, label: Label) -> tuple[float, Label, str] | None:
    """When a file was written, the label and text of its last line; None if the file is empty."""
    line = re.split(rb"[\r\n]+", read_plain(path, _LAST, at_end=True).rstrip())[-1]
    if not line:
        return None
    return changed(path), *Labeller((), label).split(plain(line))


def _stall_note(folder: str, minutes: int) -> Iterator[str]:
    """A note on what --stall will do; without --stall, what it would have done after a silence."""
    found = _STALL.search(read_start(os.path.join(folder, "job.sh"))) if folder else None
    if found:
        yield (
            f"its --stall {found[1]}: when no rank has written for {found[1]} minutes, each writes"
            " its stack, and the job ends; then ask again, for who hung, and where"
        )
    elif minutes:
        yield (
            f"--stall {minutes} would have ended it by now, with the stack of each rank, and this"
            " command would say who hung, and where; choose three times the longest silence of a"
            " job that went well"
        )
