"""A verdict as text of at most 15 lines, or as JSON."""

from typing import Any

from jobgen.diagnosis.events import Event, Verdict
from jobgen.diagnosis.judging.places import MOST_NAMED, name_of
from jobgen.diagnosis.lines.times import clock
from jobgen.errors import printable

LINES = 15
WIDTH = 100
_SHORT = 300  # characters of the first line's parts
NOTHING = "no failure found"


def as_text(verdict: Verdict, everything: bool = False) -> str:
    """What failed first, the evidence, the cure, what misleads; with `everything`, the chain."""
    lines = [*_head(verdict), *_evidence(verdict), *_advice(verdict)]
    if verdict.node_notes:
        lines.append(f"note: on {verdict.node}: {', '.join(verdict.node_notes)}")
    lines += [f"note: {note}" for note in verdict.notes]
    if everything and verdict.chain:
        lines += ["", "all that belongs to it, in the order of the files:"]
        lines += [f"  {event_line(event)}" for event in verdict.chain]
    else:
        lines = lines[:LINES]
    return "".join(f"{printable(line)}\n" for line in lines)


def _head(verdict: Verdict) -> list[str]:
    who, says = _who(verdict), shortened(verdict.says, _SHORT)
    if verdict.code:
        subject = f"{who} failed first" if who else "first failure"
        when = f" at {clock(verdict.time)}" if verdict.time is not None else ""
        return [f"{subject}{when}: {says}  [{verdict.code}, {verdict.certainty}]"]
    if not verdict.evidence:
        return [f"{NOTHING}: {verdict.says}" if verdict.says else NOTHING]
    subject = f"{who}: " if who else ""
    return [f"I cannot tell what failed first, but this is seen: {subject}{says}"]


def _who(verdict: Verdict) -> str:
    """The node and rank, as far as they are clear; the subject of a sentence."""
    if verdict.one_of:
        names = list(verdict.one_of[:MOST_NAMED])
        more = len(verdict.one_of) - len(names)
        return f"one of {', '.join(names)}" + f" and {more} more" * bool(more)
    if verdict.everywhere:
        return "all ranks alike"
    return name_of(verdict.node, verdict.rank)


def _evidence(verdict: Verdict) -> list[str]:
    lines = []
    for event in verdict.evidence:
        lines.append(f"  {shortened(event_line(event), WIDTH * 2)}")
        if event.where:
            lines.append(f"    in {shortened(event.where, WIDTH)}")
    return lines


def event_line(event: Event) -> str:
    """`file:line: text`."""
    place = f"{event.file}:{event.line}" if event.line else event.file
    return f"{place}: {event.text.strip() or event.says}"


def _advice(verdict: Verdict) -> list[str]:
    lines = [f"cure: {verdict.cure}"] * bool(verdict.cure)
    return lines + [f"not this: {verdict.misleads}"] * bool(verdict.misleads)


def shortened(text: str, length: int) -> str:
    """The text, or as much of its beginning as there is room for."""
    return text if len(text) <= length else f"{text[: length - 2]} …"


def as_json(verdict: Verdict, everything: bool = False) -> str:
    """The same, for programs."""
    import json  # few ask for it, and it takes a while to import

    value: dict[str, Any] = {
        "code": verdict.code,
        "certainty": verdict.certainty or None,
        "what": verdict.says or None,
        "node": verdict.node,
        "rank": verdict.rank,
        "one_of": list(verdict.one_of),
        "all_ranks": verdict.everywhere,
        "time": clock(verdict.time) if verdict.time is not None else None,
        "attempt": verdict.attempt,
        "evidence": [_event(event) for event in verdict.evidence],
        "cure": verdict.cure or None,
        "misleads": verdict.misleads or None,
        "notes": list(verdict.notes),
        "node_notes": list(verdict.node_notes),
    }
    if everything:
        value["chain"] = [_event(event) for event in verdict.chain]
    return json.dumps(_encodable(value), indent=2) + "\n"


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


def _encodable(value: Any) -> Any:
    """The value without what UTF-8 cannot have: names of files may be any bytes."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {key: _encodable(each) for key, each in value.items()}
    return [_encodable(each) for each in value] if isinstance(value, list) else value
