"""A verdict as text of at most 15 lines, as JSON, or as one line, the last of a job's output."""

import re
from typing import Any

from jobgen.diagnosis.classes import codes_with
from jobgen.diagnosis.events import Event, Verdict
from jobgen.diagnosis.judging.own_fault import own_fault
from jobgen.diagnosis.judging.places import MOST_NAMED, name_of
from jobgen.diagnosis.lines.labels import clock
from jobgen.errors import listed, printable

LINES = 15
WIDTH = 100
CHARACTERS = 300  # of one line, and of parts of the first line
NOTHING = "no failure found"
_LACKS_END = """\
nothing here says that the job ended well: if it hung, its last line shows how far it came, and \
`py-spy dump` of each rank where it waits (in NCCL, NCCL_DEBUG=INFO shows more); give `jobgen why` \
all files of the job, or its number"""
_FEWEST_OF_CURE = 30  # characters: a shorter part of a cure says nothing
_DIFFERS = r"^it is in (?P<place>.+?), while (?P<others>.+)$"
_ARE_IN = r"\b(?:is|are) in (?=\w)"
_NO_CAUSE = "no cause found"  # for `as_line`


def as_text(verdict: Verdict, everything: bool = False) -> str:
    """The verdict as text: failure, evidence, cure, false leads; with `everything`, the chain."""
    lines = [head(verdict)]
    for event in verdict.evidence:
        lines.append(f"  {shortened(event_line(event), WIDTH * 2)}")
        lines += [f"    in {shortened(event.where, WIDTH)}"] * bool(event.where)
    lines += [f"cure: {verdict.cure}"] * bool(verdict.cure)
    if verdict.send:
        report = "`jobgen why … --report` writes the mail"
        lines.append(f"for the site's administrators: {verdict.send}; {report}")
    lines += [f"not this: {verdict.misleads}"] * bool(verdict.misleads)
    if verdict.node_notes:
        lines.append(f"note: on {verdict.node}: {', '.join(verdict.node_notes)}")
    lines += [f"note: {note}" for note in verdict.notes]
    lines += [f"note: {_LACKS_END}"] * (verdict.lacks_end and lines[0] == NOTHING)
    if everything and verdict.chain:
        lines += ["", "all that belongs to it, in the order of the files:"]
        lines += [f"  {event_line(event)}" for event in verdict.chain]
    else:
        lines = lines[:LINES]
    return "".join(f"{printable(line)}\n" for line in lines)


def head(verdict: Verdict) -> str:
    """What failed first and where, with the class of the failure and how sure that is."""
    who, says = _name(verdict), shortened(verdict.says, CHARACTERS)
    if verdict.one_of:
        who = _one_of(verdict, MOST_NAMED)
    elif verdict.everywhere:
        who = "all ranks alike"
    if verdict.code == "stalled" and not verdict.everywhere and not verdict.one_of:
        return f"the ranks hung: {_hung(who, says)}  [{verdict.code}, {verdict.certainty}]"
    if verdict.code:
        subject = f"{who} failed first" if who else "first failure"
        when = f" at {clock(verdict.time)}" if verdict.time is not None else ""
        return f"{subject}{when}: {says}  [{verdict.code}, {verdict.certainty}]"
    if not verdict.evidence:
        return f"{NOTHING}: {verdict.says}" if verdict.says else NOTHING
    subject = f"{who}: " if who else ""
    return f"I cannot tell what failed first, but this is seen: {subject}{says}"


def _name(verdict: Verdict) -> str:
    return name_of(verdict.node, verdict.rank, verdict.local_rank)


def _one_of(verdict: Verdict, most: int) -> str:
    return f"one of {listed(verdict.one_of, most)}"


def event_line(event: Event) -> str:
    """An event as `file:line: text`."""
    place = f"{event.file}:{event.line}" if event.line else event.file
    return f"{place}: {event.text.strip() or event.says}"


def shortened(text: str, length: int) -> str:
    """The text, or the beginning of a text that is longer than `length`."""
    return text if len(text) <= length else f"{text[: length - 2]} …"


def as_json(verdict: Verdict, everything: bool = False) -> str:
    """The verdict as JSON, for programs."""
    import json  # slow to import, and seldom needed

    return json.dumps(values_of(verdict, everything), indent=2) + "\n"


def values_of(verdict: Verdict, everything: bool = False) -> dict[str, Any]:
    """The verdict as values that JSON can have."""
    value: dict[str, Any] = {
        "code": verdict.code,
        "certainty": verdict.certainty or None,
        "what": verdict.says or None,
        "node": verdict.node,
        "rank": verdict.rank,
        "local_rank": verdict.local_rank,
        "one_of": list(verdict.one_of),
        "all_ranks": verdict.everywhere,
        "time": clock(verdict.time) if verdict.time is not None else None,
        "attempt": verdict.attempt,
        "evidence": [_event(event) for event in verdict.evidence],
        "cure": verdict.cure or None,
        "send": verdict.send or None,
        "misleads": verdict.misleads or None,
        "notes": list(verdict.notes),
        "node_notes": list(verdict.node_notes),
    }
    if everything:
        value["chain"] = [_event(event) for event in verdict.chain]
    return {key: encodable(each) for key, each in value.items()}


def _event(event: Event) -> dict[str, Any]:
    return {
        "file": event.file,
        "line": event.line,
        "text": event.text,
        "code": event.code or None,
        "role": event.role.value,
        "node": event.node,
        "rank": event.rank,
        "where": event.where or None,
    }


def encodable(value: Any) -> Any:
    """The value with escapes for what UTF-8 cannot encode: names of files may have any bytes."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {key: encodable(each) for key, each in value.items()}
    return [encodable(each) for each in value] if isinstance(value, list) else value


def as_line(verdict: Verdict) -> str:
    """The line `jobgen: rank 3 on gpu08 failed first: ValueError: …: WHAT TO DO`, with newline."""
    sentence = shortened(f"jobgen: {_sentence(verdict)}", CHARACTERS)
    cure = _first_words(verdict.cure, CHARACTERS - len(f"{sentence}: ")) if verdict.code else ""
    return f"{one_line(sentence + f': {cure}' * bool(cure))}\n"


def no_cause(reason: str) -> str:
    """The line to print if no verdict could be made."""
    return f"{one_line(f'jobgen: {_NO_CAUSE}: {reason}')[:CHARACTERS]}\n"


def one_line(text: str) -> str:
    """The text without line ends, and without control characters for a terminal."""
    return printable(" ".join(text.split()))


def _sentence(verdict: Verdict) -> str:
    says = verdict.says.replace("; nothing in the log says by whom", "")  # to save room
    who, says = _subject(verdict), shortened(says, CHARACTERS // 2)
    is_guess = verdict.certainty == "possible" and verdict.code not in codes_with("process")
    says += " (possible)" * is_guess
    notes = f"; on that node: {', '.join(verdict.node_notes)}" if verdict.node_notes else ""
    if verdict.code is None:
        if verdict.is_expected:
            return says
        if not verdict.evidence:
            return f"{_NO_CAUSE}: {says or 'no rank says why it failed'}"
        return f"{_NO_CAUSE}; this is seen: {f'{who}: ' if who else ''}{says}{notes}"
    if verdict.code == "peer-lost" and verdict.certainty == "possible" and verdict.rank is None:
        return f"{_NO_CAUSE}; the other ranks lost their connections to {verdict.node}{notes}"
    if verdict.code == "stalled":
        return f"the ranks hung: {_hung(who, says)}{notes}"
    if not who and verdict.code in codes_with("outside"):
        return f"the job was ended from outside: {says}"
    fault = own_fault(verdict)  # a chain's script looks for these words
    notes += f"; a fault of the program ({fault})" if fault else ""
    return f"{who} failed first: {says}{notes}" if who else f"{says}{notes}"


def _hung(who: str, says: str) -> str:
    if differs := re.match(_DIFFERS, says):
        others = re.sub(_ARE_IN, "in ", differs["others"])
        return f"{who} in {differs['place']}; {others}"
    return f"{who} {says.removeprefix('it ')}" if who else says


def _subject(verdict: Verdict) -> str:
    """Who failed, as the subject of a sentence; "" if the verdict names nobody."""
    main = verdict.evidence[0] if verdict.evidence else None
    if verdict.everywhere:
        first = name_of(main.node, main.rank) if main else ""
        return f"{first}, and others alike," if first else "all ranks alike"
    if verdict.one_of:
        if verdict.alike:
            name = verdict.one_of[0]
            return f"{name if name.startswith('rank ') else f'node {name}'}, and others alike,"
        return _one_of(verdict, 3)
    if (verdict.rank, verdict.local_rank) != (None, None) or not verdict.node:
        return _name(verdict)
    is_launcher = verdict.code in codes_with("process") and main and (main.code or main.status)
    return f"launcher on {verdict.node}" if is_launcher else f"node {verdict.node}"


def _first_words(cure: str, most: int) -> str:
    """The beginning of a cure, with at most `most` characters, up to the end of a part or word."""
    if len(cure) <= most:
        return cure
    for mark in ("; ", ", ", " "):
        head = cure[:most].rpartition(mark)[0].rstrip(",;")
        if len(head) >= min(_FEWEST_OF_CURE, most):
            return head
    return ""
