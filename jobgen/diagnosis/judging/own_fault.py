"""Which failures are surely the program's own, so that each further start would fail alike."""

import re

from jobgen.diagnosis.events import Event, Verdict
from jobgen.diagnosis.judging.case import CAUSES

_CODES = ("python-exception", "arguments")
_OWN = r"(?:Syntax|Indentation|Tab|Name|UnboundLocal)Error(?=: )|it refused its arguments"


def is_own(event: Event) -> bool:
    """Whether an event says a fault of the program, as far as its own line tells."""
    return event.code in _CODES and bool(re.match(_OWN, event.says))


def own_fault(verdict: Verdict) -> str:
    """The exception of a program that surely failed by its own fault, such as NameError; else "".

    It is not sure if anything else may have come first: another cause, or what the same rank wrote
    before, as a handler of a lost connection may have a mistake of its own. Nor is it if torchrun
    names only ranks without it: then a rank has shown it and gone on.
    """
    causes = [event for event in verdict.chain if event.code and event.role in CAUSES]
    found = {re.match(_OWN, event.says) for event in causes}
    if verdict.code not in _CODES or None in found or not causes:
        return ""
    if any(_is_before(event, cause) for event in verdict.chain for cause in causes):
        return ""
    ended = {e.rank for e in verdict.chain if not e.code and e.status not in (None, 0, -15)}
    ranks = {cause.rank for cause in causes}
    is_named = not ended - {None} or None in ranks or bool(ended & ranks)
    return next((each[0] for each in found if each), "") if is_named else ""


def _is_before(event: Event, cause: Event) -> bool:
    """Whether the rank had another failure before."""
    is_other = bool(event.code) and not re.match(_OWN, event.says)
    return (
        is_other
        and (event.file, event.rank) == (cause.file, cause.rank)
        and event.line < cause.line
    )
