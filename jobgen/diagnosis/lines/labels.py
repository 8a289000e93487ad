"""Reads the node, rank and time of a line: labels that launchers and libraries put before it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, NamedTuple

from jobgen.diagnosis.lines.matching import compiled

_Pattern = tuple[str, str]  # behind a text that each match has
HOST = r"[A-Za-z0-9][\w.-]*"
# Also colours whose escape character was lost when somebody copied the text.
_ESCAPES = (
    r"\[\d{1,2}(?:;\d{1,3})*m|"
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])"
)

_STAMP = r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?:? "
# A host whose name has a number.
_NUMBERED = r"(?!(?:rank|step|epoch|iter(?:ation)?|batch)[\d_-])(?=[A-Za-z][\w-]*\d)[\w.-]+"

# Labels that are cut off, one by one, from the beginning of a line. Groups are fields of Label.
# Before each stands a text that each such line has: a pattern takes longer to compile than this
# text to find, and most lines have few of the labels.
_PREFIXES = (
    (" rank ", rf"(?P<node>{HOST}) rank (?P<rank>\d+): ?"),  # jobgen's
    ("[rank", r"\[rank(?P<rank>\d+)\]: ?"),  # torch's, before a traceback
    ("[default", r"\[default(?P<local_rank>\d+)\]: ?"),  # torchrun --tee
    ("ank", r"\[(?:\S+ )?[Rr]ank ?(?P<rank>\d+)\]: ?"),
    ("[rank", r"\[\d+\] (?=\[rank\d)"),  # the number of the line
    (",", r"\[\d+,(?P<rank>\d+)\](?:<\w+>)?: ?"),  # OpenMPI's mpirun --tag-output
    ("[std", r"(?:[\w.-]+ )?\[std(?:err|out)\] ?"),  # torchx's and milabench's
    (".", r"\[\d{10}\.\d+\] "),  # UCX
    (" (pid ", r"\[\S+ \(pid \d+\)\] "),  # Metaflow's, and its run
    ("-", r"\[[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\] "),
    ("[kubeflow]", r"\[kubeflow\]\[[\w-]+\] "),
    # vLLM's.
    ("]", r"(?:INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? \[?\S+\] ?"),
    ("| ", r"\| (?:ERROR|CRITICAL) +\| \S+ - "),  # loguru's, behind its time
    # torchelastic's file
    ('"message"', r'\s*(?:\{"message": ?\{)?"message": ?"(?=[\w.]+(?:Error|Exception)\b)'),
    ("Error: ", r"[\"'](?=(?:\w+\.)*[A-Z]\w+Error: )"),
    ("Stderr: ", r"Stderr: "),  # of a command that ssh ran
    # pdsh's, before what Python says.
    (
        ": ",
        rf"(?P<node>(?=[A-Za-z]){HOST}): "
        r"(?=ModuleNotFoundError|ImportError|Traceback \(most recent)",
    ),
    # SkyPilot's
    (" pid=", r"\((?:head|worker\d*), rank=\d+, pid=\d+(?:, ip=(?P<node>[\d.]+))?\) ?"),
    # Ray
    (
        "pid=",
        r"\((?:\w[\w.:-]* )?(?:rank=(?P<rank>\d+), )?pid=\d+(?:, ip=(?P<node>[\d.]+))?\) ?",
    ),
    # A program's own: the time, the node, and the rank, which is no process with so few digits.
    (
        "-",
        rf"{_STAMP}(?P<node>{_NUMBERED}) (?:\[(?=\d{{1,3}}\])|[Rr]ank[= ]?)(?P<rank>\d{{1,6}})"
        r"\b\]?:? ?",
    ),
    ("(worker_", rf"{_STAMP}\((?P<node>worker_\d+)\) : ?"),
    ("-", _STAMP),
    # Of what gathers lines.
    ("[rank", rf"(?P<node>{_NUMBERED}):?(?: +[\w.|-]+)? +(?=\[rank\d+\]: )"),
    ("[rank", r"[^\[\]\"'`#]{1,60}?\s(?=\[rank\d+\]: )"),
    (
        "cudaGetDeviceCount",
        rf"(?P<node>{_NUMBERED}): (?=RuntimeError: Unexpected error from cudaGetDeviceCount)",
    ),
)
_TASK = ("", r" *(?P<task>\d{1,5}): ?")  # srun --label
_HOST_NAME = (  # pdsh's
    ":",
    rf"(?:{_STAMP})?(?!slurmstepd-)(?P<node>{_NUMBERED}|\d{{1,3}}(?:\.\d{{1,3}}){{3}}):(?: |$)",
)

# Beginnings of lines that name the node or the rank, but are not cut off.
_HINTS = (
    ("NCCL ", rf"^(?P<node>{HOST}):\d+:\d+ \[-?\d*\] NCCL "),
    ("NCCL WARN", rf"^(?P<node>{HOST}):\d+:\d+ \[-?\d*\] .{{0,80}}NCCL WARN"),
    # OpenMPI, UCX: host and process, and no file of source
    (":", rf"^\[(?!\S+\.(?:py|cc|cpp|cu|c|h):)(?P<node>{HOST}):\d+(?: ?:\d+(?::\d+)?)?\] "),
    ("[rank", r"^\[rank(?P<rank>\d+)\]:"),
    ("ank ", r"^\[?[EWIF]\d{4} \d\d:[^\]]*\] \[(?:PG [^\]]*)?[Rr]ank (?P<rank>\d+)\]"),
    ("ank ", r"^\[(?:PG (?:ID )?[^\]]*)?[Rr]ank (?P<rank>\d+)\]"),
    ("[rank: ", r"^\[rank: (?P<rank>\d+)\]"),  # Lightning's
    (": task", rf"^(?:slurmstepd|srun): (?:error|fatal): (?P<node>{HOST}): task"),
)
_JOURNAL = (  # behind a time of ISO 8601, or its own
    "",
    rf"(?:[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)? )?(?P<node>{HOST}) "
    r"(?:kernel: |(?=slurm(?:step)?d\[\d+\]: ))",
)
_OF_JOURNAL = (" kernel: ", " slurmd[", " slurmstepd[")
_SRUNS_OWN = ("srun: ", "slurmstepd: ")
_SAMPLE = 200  # lines
_MOST_PREFIXES = 5

_TIME_SEARCHED = 200  # characters at the beginning of a line
_CLOCK = r"(?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)"
_DATE = rf"\b(?:\d{{4}})-(?P<month>\d\d)-(?P<day>\d\d)[T _]{_CLOCK}(?:[.,](?P<f>\d{{1,9}}))?"
# glog's, which torch uses: E1122 19:00:00.123456; its C++ writes March as 3, and E903 in September
# The kernel's, the journal's and PBS's: Sun Nov  2 19:00:00 2025
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"
_NAMED = (
    rf"\b(?P<month>{_MONTHS.replace(' ', '|')}) +(?P<day>\d{{1,2}}) {_CLOCK}(?:\.(?P<f>\d{{1,9}}))?"
)
_GLOG = rf"(?:^|[\[\s])[EWIF](?P<month>\d{{1,2}})(?P<day>\d\d) {_CLOCK}\.(?P<f>\d{{1,9}})"


class Label(NamedTuple):
    """The origin of a line, as far as it is known."""

    node: str | None = None
    rank: int | None = None
    local_rank: int | None = None
    task: int | None = None
    attempt: int | None = None
    time: float | None = None  # of a failure, for lines that show no time

    def over(self, other: Label) -> Label:
        """This label; fields that it does not have are those of the other label."""
        own: dict[str, Any] = {n: value for n, value in self._asdict().items() if value is not None}
        return other._replace(**own)


class Labeller:
    """Takes labels off the lines of one file; a sample of the lines shows which labels it has."""

    def __init__(self, sample: Iterable[str], base: Label) -> None:
        lines = list(islice((line for line in sample if line.strip()), _SAMPLE))
        self._base = base
        own = [prefix for prefix in (_TASK, _HOST_NAME) if _mostly(prefix, lines)]
        own += [_JOURNAL] * any(mark in line for line in lines for mark in _OF_JOURNAL)
        self._prefixes = _by_beginning([*_PREFIXES, *own])
        self._hints = _by_beginning(_HINTS)

    def split(self, line: str) -> tuple[Label, str]:
        """The label of a line, and the rest of it."""
        label, text = Label(), line
        for _ in range(_MOST_PREFIXES):
            prefixes = self._prefixes.get(text[:1], self._prefixes[""])
            matched = (compiled(p).match(text) for part, p in prefixes if part in text)
            found = next(filter(None, matched), None)
            if not found:
                break
            label, text = _with(label, found), text[found.end() :]
            if found[0].endswith('"'):  # of JSON
                text = text.rstrip('",')
        for part, hint in self._hints.get(text[:1], self._hints[""]):
            if part in text and (found := compiled(hint).match(text)):
                label = _with(label, found)
        return label.over(self._base), text


def _by_beginning(patterns: Sequence[_Pattern]) -> dict[str, list[_Pattern]]:
    """The patterns that a text can match, by its first letter; by "" those of other texts.

    Each line is compared with all of them, and most patterns begin with a bracket.
    """
    begins = [re.match(r"\^?\\([\[(])(?!\?)", pattern) for _, pattern in patterns]
    pairs = [(begin[1] if begin else "", p) for begin, p in zip(begins, patterns, strict=True)]
    return {each: [p for begin, p in pairs if begin in ("", each)] for each in ("", "[", "(")}


def plain(line: bytes) -> str:
    """A line as text, without escape sequences for a terminal."""
    text = line.decode("utf-8", "replace")
    return (re.sub(_ESCAPES, "", text) if "\x1b" in text or "[" in text else text).rstrip()


def _mostly(prefix: _Pattern, lines: list[str]) -> bool:
    """Whether most lines, from the first line with a prefix on, have it, so that it is a label.

    The lines above come from the batch script, and srun's own lines have no label.
    """
    match = compiled(prefix[1]).match
    begin = next((index for index, line in enumerate(lines) if match(line)), len(lines))
    own = [line for line in lines[begin:] if not line.startswith(_SRUNS_OWN)]
    return len(own) > 3 and sum(1 for line in own if match(line)) * 10 >= len(own) * 8


def _with(label: Label, found: re.Match[str]) -> Label:
    """The label with more fields from a match; fields that are already set stay."""
    news: dict[str, Any] = found.groupdict()
    for name in news.keys() - {"node"}:
        news[name] = int(news[name]) if news[name] else None
    return label.over(Label(**news))


def line_time(text: str) -> float | None:
    """The first time that a line shows, or None."""
    head = text[:_TIME_SEARCHED]
    if head.count(":") < 2:  # compiling a pattern takes longer
        return None
    found = re.search(_GLOG, head)
    if not found and head.count("-") > 1:
        found = re.search(_DATE, head)
    if not found and any(month in head for month in _MONTHS.split()):
        found = re.search(_NAMED, head)
    if not found:
        return None
    month = _MONTHS.find(found["month"]) // 4 + 1 or int(found["month"])
    day, hour, minute, second = (int(found[name]) for name in ("day", *"hms"))
    try:
        whole = datetime(2000, month, day, hour, minute, second) - datetime(2000, 1, 1)
    except ValueError:  # digits that are no time
        return None
    return whole.total_seconds() + float(f"0.{found['f'] or 0}")


def time_of(timestamp: Any) -> float | None:
    """The time of a timestamp as that of a line here; None if it is invalid."""
    try:
        return line_time(datetime.fromtimestamp(float(timestamp)).isoformat())
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def clock(time: float) -> str:
    """A time as text: the day and the clock."""
    return f"{datetime(2000, 1, 1) + timedelta(seconds=time):%m-%d %H:%M:%S}"
