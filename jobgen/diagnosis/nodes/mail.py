"""A mail to a site's administrators on a failure that only they can mend.

It has the node, the time, the class in its own words, and the lines that show the failure. Of these
lines it has numbers and the words that the class's text knows, so that nothing of the user's is in
it, whatever it looks like: names of files, of processes, of users, of buckets.
"""

import getpass
import re
from contextlib import suppress

from jobgen.diagnosis import classes
from jobgen.diagnosis.events import Verdict
from jobgen.diagnosis.lines.labels import clock, line_time
from jobgen.diagnosis.report import shortened
from jobgen.errors import printable

_LENGTH = 300  # characters of a line
_HIDDEN = "…"
_STAMP = re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\b")
_RUN = re.compile(r"[^\s,;:()\[\]{}<>'\"=`|]+")
_HIDDEN_RUNS = re.compile(rf"{_HIDDEN}(?:[ :,;]+{_HIDDEN})+")
# Numbers, times, addresses, and adapters.
_NUMBER = re.compile(
    r"[+-]?\d[\d.T-]*(?:[KMGT]?i?B)?|(?:0x)?(?=[a-f]*\d)[\da-f]{1,8}"
    r"|(?:mlx|bnxt|irdma|hfi|cxi|hsn|ib)\w?_?\d+",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z][\w-]*")
_ESCAPE_OR_SOURCE = re.compile(r"\\[a-zA-Z]|https?://\S+")
# What kernels, NCCL and Slurm write around the words of a class, and the names of days.
_USUAL = """
a an and any apr at aug be by cancelled code commands connection critical cuda dec details detected
did due during end error exception execution exit exitcode exited failed failure fatal feb for fri
from gpu group has have ib in info input/output is it its jan job jul jun kernel killed len log mar
may memory mon name nccl net net/ib no node nodelist not nov nvrm oct of on opcode or pci pid
process rank ranks runtimeerror sat see sep slurmctld slurmd slurmstepd srun start state status
step stepid sun task tasks terminated that the this thread thu time timelimit to tue unreachable
warn warning was watchdog wed with xid
"""


def as_mail(verdict: Verdict) -> str:
    """The mail; the class of the verdict has what the administrators need."""
    found = classes.class_of(verdict.code or "")
    words = _known_words(verdict)
    lines = [event.text.strip() for event in verdict.evidence if event.text]
    notes = _without_data(", ".join(verdict.node_notes), words)
    parts = [
        f"Subject: {verdict.node or 'a node'}: {found.title[:1].lower()}{found.title[1:]}",
        f"Node: {verdict.node or 'unknown: see the lines'}",
        f"Time: {_time(verdict, lines)}",
        f"Class: {found.code}, {verdict.certainty}",
        f"Its kernel and GPUs noted: {notes}" if notes else "",
        f"To look at: {verdict.send}",
        f"Lines ({_HIDDEN}: left out):",
        *(f"    {_without_data(line, words)}" for line in lines),
    ]
    subject, *rest = filter(None, parts)
    return "".join(f"{printable(line)}\n" for line in (subject, "", *rest))


def _time(verdict: Verdict, lines: list[str]) -> str:
    """The time of the failure, with the year if a line shows it."""
    stamps = [found[0] for line in lines if (found := _STAMP.search(line))]
    times = (verdict.time, *(event.time for event in verdict.evidence))
    time = next((each for each in times if each is not None), None)
    if time is None:
        return next(iter(stamps), "unknown")
    same = (stamp for stamp in stamps if line_time(stamp) == int(time))
    return next(same, clock(time))


def _known_words(verdict: Verdict) -> set[str]:
    """The words that a mail may have, in lower case: those of the class's text."""
    with open(classes.file_of(verdict.code or ""), encoding="utf-8") as stream:
        text = _ESCAPE_OR_SOURCE.sub(" ", stream.read())
    words = {*_WORD.findall(text.lower()), *_USUAL.split()}
    with suppress(KeyError, OSError):  # a user without a name
        words.discard(getpass.getuser().lower())
    nodes = [verdict.node, *(event.node for event in verdict.evidence)]
    return words | {node.lower() for node in nodes if node}


def _without_data(text: str, words: set[str]) -> str:
    """The text with its numbers and known words; the rest is left out."""

    def shown(run: re.Match[str]) -> str:
        word = run[0].rstrip(".!?")
        is_known = word.lower() in words or _NUMBER.fullmatch(word)
        return run[0] if is_known else _HIDDEN

    return shortened(_HIDDEN_RUNS.sub(_HIDDEN, _RUN.sub(shown, text)), _LENGTH)
