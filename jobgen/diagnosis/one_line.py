"""A verdict as one line: the last one of a job's output."""

import re

from jobgen.diagnosis.classes import codes_with
from jobgen.diagnosis.events import Verdict
from jobgen.diagnosis.judging.places import name_of
from jobgen.diagnosis.report import shortened
from jobgen.errors import printable

CHARACTERS = 300
_FEWEST_OF_CURE = 30  # below that, a cure says nothing
_DIFFERS = r"^it is in (?P<place>.+?), while (?P<others>.+)$"
_ARE_IN = r"\b(?:is|are) in (?=\w)"
_NO_CAUSE = "no cause found"


def as_line(verdict: Verdict) -> str:
    """`jobgen: rank 3 on gpu08 failed first: ValueError: …: WHAT TO DO`, with its end of line."""
    sentence = shortened(f"jobgen: {_sentence(verdict)}", CHARACTERS)
    cure = _first_words(verdict.cure, CHARACTERS - len(f"{sentence}: ")) if verdict.code else ""
    return f"{one_line(sentence + f': {cure}' * bool(cure))}\n"


def no_cause(reason: str) -> str:
    """The line of a verdict that could not be made."""
    return f"{one_line(f'jobgen: {_NO_CAUSE}: {reason}')[:CHARACTERS]}\n"


def one_line(text: str) -> str:
    """The text without line ends, and with nothing that a terminal obeys."""
    return printable(" ".join(text.split()))


def _sentence(verdict: Verdict) -> str:
    says = verdict.says.replace("; nothing in the log says by whom", "")  # there is no room for it
    says = shortened(says, CHARACTERS // 2)
    notes = f"; on that node: {', '.join(verdict.node_notes)}" if verdict.node_notes else ""
    if verdict.code is None:
        if not verdict.evidence:
            return f"{_NO_CAUSE}: {says or 'no rank says why it failed'}"
        who = _who(verdict)
        return f"{_NO_CAUSE}; this is seen: {f'{who}: ' if who else ''}{says}{notes}"
    if verdict.code == "peer-lost" and verdict.certainty == "possible" and verdict.rank is None:
        return f"{_NO_CAUSE}; the other ranks lost their connections to {verdict.node}{notes}"
    if verdict.code == "stalled":
        return f"the ranks hung: {_hung(verdict, says)}{notes}"
    who = _who(verdict)
    if not who and verdict.code in codes_with("outside"):
        return f"the job was ended from outside: {says}"
    return f"{who} failed first: {says}{notes}" if who else f"{says}{notes}"


def _hung(verdict: Verdict, says: str) -> str:
    who = _who(verdict)
    if differs := re.match(_DIFFERS, says):
        others = re.sub(_ARE_IN, "in ", differs["others"])
        return f"{who} in {differs['place']}; {others}"
    return f"{who} {says.removeprefix('it ')}" if who else says


def _who(verdict: Verdict) -> str:
    """The subject of the sentence; "" if nobody is named."""
    main = verdict.evidence[0] if verdict.evidence else None
    if verdict.everywhere:
        first = name_of(main.node, main.rank) if main else ""
        return f"{first}, and others alike," if first else "all ranks alike"
    if verdict.one_of:
        if verdict.alike:
            return f"{_named(verdict.one_of[0])}, and others alike,"
        more = len(verdict.one_of) - 3
        return f"one of {', '.join(verdict.one_of[:3])}" + f" and {more} more" * (more > 0)
    if verdict.rank is not None:
        return name_of(verdict.node, verdict.rank)
    if not verdict.node:
        return ""
    if main and main.local_rank is not None and main.node == verdict.node:
        return f"local rank {main.local_rank} on {verdict.node}"
    is_launcher = verdict.code in codes_with("process") and main and (main.code or main.status)
    return f"launcher on {verdict.node}" if is_launcher else f"node {verdict.node}"


def _named(name: str) -> str:
    return name if name.startswith("rank ") else f"node {name}"


def _first_words(cure: str, most: int) -> str:
    """As much of a cure as there is room for, up to the end of one of its parts."""
    if len(cure) <= most:
        return cure
    for mark in ("; ", ", ", " "):
        head = cure[:most].rpartition(mark)[0].rstrip(",;")
        if len(head) >= min(_FEWEST_OF_CURE, most):
            return head
    return ""
