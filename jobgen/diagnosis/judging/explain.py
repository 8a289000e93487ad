"""Drops classes that another class explains."""

from jobgen.diagnosis.classes import classes, codes_with
from jobgen.diagnosis.events import Event
from jobgen.diagnosis.judging.order import first, is_before
from jobgen.diagnosis.signs import CERTAINTIES, Role

Groups = dict[str, list[Event]]


def by_class(events: list[Event]) -> Groups:
    """The events of each class, in their order."""
    groups: Groups = {}
    for event in events:
        if event.code:
            groups.setdefault(event.code, []).append(event)
    if timeouts := groups.get("collective-timeout"):
        from jobgen.diagnosis.judging.out_of_step import out_of_step  # few logs have any

        if found := out_of_step(timeouts):
            groups.setdefault("desync", []).extend(found)
    return groups


def unexplained(groups: Groups) -> Groups:
    """The classes that none of the others explains."""
    edges = {(a, b) for a in groups for b in _consequences(a) if b in groups and a != b}
    real = {(a, b) for a, b in edges if _can_explain(groups, a, b, (b, a) in edges)}
    explained = {b for _, b in real}
    useful = {a for a, b in real if any(event.role is Role.CAUSE for event in groups[b])}
    idle = {code for code, events in groups.items() if _is_hint(events)} - useful
    rest = {code: each for code, each in groups.items() if code not in explained | idle}
    return rest or groups


def _is_hint(events: list[Event]) -> bool:
    """Whether all lines stand in jobs that go well, too: alone, they explain no other failure."""
    return all(event.role is Role.CONFIRMATION and event.needs_failure for event in events)


def _consequences(code: str) -> set[str]:
    """The classes that a class explains, and those that these explain."""
    found: set[str] = set()
    todo = [code]
    while todo:
        new = classes()[todo.pop()].explains - found - {code}
        found |= new
        if code in codes_with("scheduler"):  # what it ended did not lead to a timeout of others
            return found
        todo += new
    return found


def _can_explain(groups: Groups, a: str, b: str, mutual: bool) -> bool:
    """Whether a's events can have led to b's: not if they clearly came later."""
    if all(event.role is Role.CONSEQUENCE for event in groups[b]):
        return True
    cause, other = first(groups[a]), first(groups[b])
    before = is_before(cause, other)
    must_be_clear = mutual or (_is_guess(cause) and not _is_guess(other))
    return before is True if must_be_clear else before is not False


def _is_guess(event: Event) -> bool:
    return event.certainty == "possible"


def ranked(groups: Groups) -> list[str]:
    """The classes, the one that failed first at the beginning."""
    return sorted(groups, key=lambda code: _key(groups, code))


def _key(groups: Groups, code: str) -> tuple[int, int, bool, int, int]:
    event = first(groups[code])
    others = [first(events) for other, events in groups.items() if other != code]
    earlier = sum(is_before(other, event) is True for other in others)
    certainty = CERTAINTIES.index(event.certainty)
    weak = max((code in codes_with("scheduler")) * 2, certainty) + (code in codes_with("general"))
    return earlier, weak, event.role is Role.CONFIRMATION, certainty, event.line
