"""The verdict: what failed first, where, how sure that is, and the cure."""

import re
from collections.abc import Iterator, Sequence

from jobgen.diagnosis.classes import class_of, codes_with
from jobgen.diagnosis.events import CERTAINTIES, Event, Role, Verdict
from jobgen.diagnosis.judging import places
from jobgen.diagnosis.judging.case import CAUSES, MESSAGE, Case, of_the_failure
from jobgen.diagnosis.judging.cures import with_cure
from jobgen.diagnosis.judging.ends import bad_ends, without_launchers_kills
from jobgen.diagnosis.judging.explain import Groups, by_class, first, ranked, unexplained
from jobgen.diagnosis.judging.own_fault import is_own
from jobgen.diagnosis.judging.places import Place
from jobgen.diagnosis.lines.matching import filled

MOST_EVIDENCE = 3
_GOES_ON = r"^\s|^\S.{0,40}: {3,}\S"  # a line that is indented, also behind a program's name
# A frame of a backtrace: it tells more than the signal.
_FRAME = r"^\S* *#?\d+ +(?:0x[0-9a-f]+ |\S+\(\S*\) ?\[0x)"
MOST_WITNESSES = 3  # further files that are cited
MOST_NOTES = 2  # on what the job survived
# Statuses with which ranks end when another rank is gone: errors, and ends by a launcher.
NOT_TELLING = (0, 1, -15, 143, -2, 130)
_ABORTED = (-6, 134)  # also by a watchdog
_HIDDEN = "the scheduler says that the job ended well: its script hides the status of what failed"
_SIGABRT = "exit status -6"
_IS_SILENT = "it alone does not complain that another one is gone"


def judge(case: Case) -> Verdict:
    """The verdict on a job: what failed first in it, by the events of its files."""
    verdict = _judged(case)
    found = {e.code: e for e in reversed(case.survived) if e.code not in codes_with("plain")}
    survived = list(found.values())[: -MOST_NOTES - 1 : -1] or case.survived[:1]
    notes = (f"recovered from: {each.says}, {each.file}:{each.line}" for each in survived)
    asides = [e for e in case.events if e.role is Role.NOISE and e.says][:MOST_NOTES]
    asides_said = (f"{e.says}: that ends no process, {e.file}:{e.line}" for e in asides)
    evidence = (*verdict.evidence, *_witnesses(verdict, case))
    says = verdict.says or (evidence[0].says if evidence else "")
    hidden = [_HIDDEN] * bool(case.ended_well and verdict.code)
    return verdict._replace(
        notes=(*verdict.notes, *hidden, *notes, *asides_said),
        evidence=evidence,
        says=says,
        seen_nodes=frozenset({*case.rank_nodes.values(), *case.addresses.values()}),
    )


def _witnesses(verdict: Verdict, case: Case) -> list[Event]:
    """An event of each other file that shows how the same rank or node ended, or the job."""
    found = {event.file: event for event in verdict.evidence}
    cited = len(found)
    for event in verdict.chain:
        is_telling = event.status not in (None, 0) or (event.role in CAUSES and not event.reporter)
        if event.rank is not None:
            is_same = event.rank == verdict.rank
        elif event.node:
            is_same = event.node == verdict.node
        else:
            is_same = event.code == verdict.code or event.file in case.facts
        if is_telling and is_same:
            found.setdefault(event.file, event)
    return list(found.values())[cited:][:MOST_WITNESSES]


def _judged(case: Case) -> Verdict:
    events = without_launchers_kills(_first_attempt(of_the_failure(case)))
    if _only_ended(events):
        events = case.absent(events[0].file) + events
    if not events and not case.ended_well:
        events = case.hung_at_start(sum(map(bool, case.lines.values())))
    groups = by_class(events)
    causes = {
        code: found
        for code, each in groups.items()
        if (found := [event for event in each if event.role in CAUSES])
    }
    killed = [event for event in groups.get("killed", ()) if event.role is Role.CONSEQUENCE]
    if not causes and killed:  # the only consequence that may come first
        causes = {"killed": [e._replace(role=Role.CAUSE, reporter=False) for e in killed]}
    if causes and set(causes) <= codes_with("waiting") and _had_failed(events):
        causes = {}
    if not causes:
        return _from_consequences(case, events)
    explained_by_all = unexplained(groups)
    rest = {code: each for code, each in causes.items() if code in explained_by_all} or causes
    return _verdict(case, events, rest, ranked(rest))


def _only_ended(events: list[Event]) -> bool:
    """Whether nothing is seen but that somebody ended the job, so that it may have hung."""
    codes = {event.code for event in events if event.code and event.role is not Role.TEARDOWN}
    return bool(codes) and codes <= codes_with("scheduler") | {"silent-hang"}


def _had_failed(events: list[Event]) -> bool:
    """Whether a process failed before others waited, so that waiting is not the cause."""
    waiting = [
        event for event in events if event.code in codes_with("waiting") and event.role in CAUSES
    ]
    failed = bad_ends(events)
    weak = all(event.certainty == "possible" for event in waiting)
    return weak and any(e.file == w.file and e.line < w.line for e in failed for w in waiting)


def _first_attempt(events: list[Event]) -> list[Event]:
    """The events up to the first attempt that failed, without those after restarts of ranks."""
    attempts = [e.attempt for e in events if e.attempt is not None and e.role in CAUSES and e.code]
    if not attempts:
        return events
    return [event for event in events if event.attempt is None or event.attempt <= min(attempts)]


def _verdict(case: Case, events: list[Event], rest: Groups, order: list[str]) -> Verdict:
    own = rest[order[0]]
    main = _surest_of_message(first(own), own)
    if main.reporter:  # a dump or a stack that names the rank tells more than ranks that waited
        direct = [e for e in own if not e.reporter and (e.node or e.rank is not None)]
        main = first(direct or own)
    cut_off = places.node_cut_off(case, own)
    if main.reporter:
        is_told = main.code == "desync" and main.rank is not None  # its text names both ranks
        place = cut_off or (Place() if is_told else places.absent_ranks(case, own))
    else:
        direct = [event for event in own if not event.reporter]
        place = cut_off or places.place_of(direct, case, events)
    found = class_of(order[0])
    others = [first(rest[code]) for code in order[1:] if code not in codes_with("general")]
    others = [each for each in others if (each.file, each.line) != (main.file, main.line)]
    groups: dict[str, str] = {}
    for event in own:
        groups.update((name, value) for name, value in event.groups.items() if not groups.get(name))
    says = _reported(main, own, place) if main.reporter and not cut_off else ""
    verdict = with_cure(_made(place, _evidence(main, own), events, says), case, main, found.code)
    return verdict._replace(
        code=found.code,
        certainty=_certainty(main, others),
        notes=tuple(_doubts(main, others)),
        alike=place.alike,
        cure=filled(verdict.cure, groups),
        send=main.send or found.send,
        misleads=filled(found.misleads, groups) if _can_mislead(found.misleads, events) else "",
    )


def _reported(main: Event, own: list[Event], place: Place) -> str:
    """What failed, where ranks only report what others did."""
    title = class_of(main.code).title
    title = title[:1].lower() + title[1:]
    if main.node and main.peer and place == Place():  # either end may be at fault
        return f"{title}; {places.name_of(main.node, main.rank)} says: {main.says}"
    if place.rank is None:
        return f"{title}: {main.says}" if place == Place() else title
    calls = {event.rank: event.groups for event in reversed(own) if event.groups.get("sequence")}
    behind = calls.pop(place.rank, None)
    other = next((each for each in calls.values() if each != behind), None)
    if not behind or not other or int(behind["sequence"]) >= int(other["sequence"]):
        return f"{title}: the others waited for it"
    both = (f"{each.get('operation', '')} {each['sequence']}".strip() for each in (behind, other))
    return f"{title}: it was behind, in {', others in '.join(both)}"


def _surest_of_message(main: Event, own: list[Event]) -> Event:
    """The event, or a later one of the same message that is surer: it has the reason."""
    place = (main.file, main.node, main.rank, main.task)
    message = range(main.line, main.line + MESSAGE)
    rest = [e for e in own if e.role is Role.CAUSE is main.role and not e.reporter]
    rest = [e for e in rest if e.file == main.file and e.line in message]
    frames = [e for e in rest if re.match(_FRAME, e.text) and e.node in (None, main.node)]
    rest = [e for e in rest if (e.file, e.node, e.rank, e.task) == place]
    same = [e for e in rest if re.match(_GOES_ON, e.text)]
    # Of those that are as sure, one that does not only quote its line.
    candidates = frames[:1] or [main, *same]
    return min(candidates, key=lambda e: (CERTAINTIES.index(e.certainty), e.quotes))


def _can_mislead(misleads: str, events: list[Event]) -> bool:
    """Whether what misleads is there: a live process that was looked at has no exit status."""
    return _SIGABRT not in misleads or any(event.status in _ABORTED for event in events)


def _made(place: Place, evidence: Sequence[Event], events: list[Event], says: str = "") -> Verdict:
    """A verdict whose main event is the first evidence; it has no class of failure yet."""
    main = evidence[0]
    return Verdict(
        None, "", says or main.says, *place[:4], time=main.time, attempt=main.attempt,
        local_rank=place.local_rank,
        evidence=tuple(evidence[:MOST_EVIDENCE]), chain=tuple(events),
    )  # fmt: skip


def _certainty(main: Event, others: Sequence[Event]) -> str:
    """The certainty of the sign, or less if it names no cause, or another cause may be first.

    A sign that shows an effect, or only quotes its line, is not sure. It is no more than possible
    if it does both, or if an effect has no cure of its own and no place in the program.
    """
    is_line = main.line > 0  # and no fact from a dump, which shows more than the effect
    is_effect = is_line and main.code in codes_with("effect") and not is_own(main)
    least = is_effect + (main.quotes or (is_effect and not main.cures and not main.where))
    competes = main.unread or any(event.role is Role.CAUSE for event in others)
    level = max(CERTAINTIES.index(main.certainty), least) + bool(competes)
    return CERTAINTIES[min(level, len(CERTAINTIES) - 1)]


def _doubts(main: Event, others: Sequence[Event]) -> Iterator[str]:
    """What may be the cause in place of the main event, as notes."""
    if main.unread:
        yield f"or the line above it: {main.unread.strip()}, {main.file}:{main.line - 1}"
    for event in others[:1]:
        place = f"{event.file}:{event.line}" if event.line else event.file
        yield f"or: {event.says}, {place}"


def _evidence(main: Event, own: list[Event]) -> list[Event]:
    """The main event, and other events with a different meaning."""
    chosen = {main.says: main}
    for event in own:
        if event.text != main.text:
            chosen.setdefault(event.says, event)
    return list(chosen.values())


def _from_consequences(case: Case, events: list[Event]) -> Verdict:
    """The verdict if only consequences are seen: on the peer that they blame, or on nobody."""
    consequences = [event for event in events if event.code and event.role is Role.CONSEQUENCE]
    seen = [event for event in consequences if event.code not in codes_with("plain")]
    failed = bad_ends(events) or [e for e in consequences if e.code in codes_with("plain")]
    if not seen and not failed:  # somebody ended the job, and nothing says why
        seen = [e for e in events if e.role is Role.TEARDOWN and e.code == "cancelled"]
        if ended := [event for event in seen if event.certainty == "possible"]:
            return _ended(ended, case, events)
        if not seen or all(event.status in (None, 0) for event in events):
            return Verdict(None, chain=tuple(events))
    if telling := _telling(case, events):
        return telling
    complaining = {event.rank for event in seen}  # a failed rank not among them is the cause
    silent = [e for e in failed if e.rank is not None and e.rank not in complaining]
    if len(complaining) > 1 and len({event.rank for event in silent}) == 1:
        return _made(places.place_of(silent, case, events), [*silent, *seen], events)
    if node := places.blamed(case, seen):
        return _lost(node, seen, case, events)
    if ranks := places.silent_ranks(case, seen):
        return _made(places.place_of_ranks(case, ranks), seen, events, _IS_SILENT)
    place = places.place_of(failed, case, events) if failed and not seen else Place()
    begin = min((event.line for event in seen), default=0)
    early = [e for e in failed if e.status not in NOT_TELLING and e.line < begin]
    evidence = [*early, *seen[:2], *failed]
    verdict = _made(place, evidence, events)
    return with_cure(verdict, case, evidence[0], evidence[0].code or "launcher-report")


def _ended(ended: list[Event], case: Case, events: list[Event]) -> Verdict:
    """The verdict if processes got SIGTERM, and nothing says why."""
    found = class_of("cancelled")
    verdict = with_cure(_made(Place(), ended, events), case, ended[0], found.code)
    return verdict._replace(code=found.code, certainty="possible", misleads=found.misleads)


def _telling(case: Case, events: list[Event]) -> Verdict | None:
    """The verdict on the only rank or launcher whose exit status is not a consequence, if any."""
    ends = [e for e in bad_ends(events) if e.status not in NOT_TELLING]
    ends = [e for e in ends if e.node or (e.rank, e.local_rank) != (None, None)]
    ends = [e for e in ends if e.status not in _ABORTED] or [e for e in ends if e.node]
    if not ends:
        return None
    place = places.place_of(ends, case, events)
    if place.one_of or place.everywhere or place == Place():
        return None
    main = ends[0]
    found = class_of("crash" if main.status in _ABORTED else "launcher-report")
    status = main.status or 0
    status = 128 - status if 128 < status < 160 else status  # a shell's status for a signal
    says = f"killed by signal {-status}" if status < 0 else f"ended with status {status}"
    verdict = with_cure(_made(place, ends[:1], events, says), case, main, found.code)
    return verdict._replace(code=found.code, certainty="possible")


def _lost(node: str, seen: list[Event], case: Case, events: list[Event]) -> Verdict:
    """The verdict on a lost node, without a time: the others noticed the loss later."""
    found = class_of(seen[0].code)
    blaming = [event for event in seen if event.peer]
    verdict = _made(Place(node), blaming, events, "the others lost their connections to it")
    verdict = with_cure(verdict, case, seen[0], found.code)
    return verdict._replace(
        code=found.code, certainty="possible", time=None, attempt=None, misleads=found.misleads
    )
