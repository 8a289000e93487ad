"""The last resort: the line that most looks like a failure, where no class of failure is seen."""

from jobgen.diagnosis.classes import class_of
from jobgen.diagnosis.events import CERTAINTIES, Event, Verdict
from jobgen.diagnosis.judging.case import CAUSES, Case, of_only_streams
from jobgen.diagnosis.judging.cures import with_cure
from jobgen.diagnosis.judging.explain import first
from jobgen.diagnosis.judging.places import place_of
from jobgen.diagnosis.judging.verdict import MOST_EVIDENCE

_SHOWN_OF_PATH = 2  # of a frame's file: a package and its module
_ENDED = ("", "launcher-report")  # codes of lines that say only that a process ended


def with_suspects(verdict: Verdict, case: Case) -> Verdict:
    """The verdict; if it has no class, with what most looks like a failure.

    This is a line, or a traceback whose last line is missing.
    """
    verdict = _with_suspects(verdict, case)
    if verdict.code or not verdict.evidence or not case.cut_off:
        return verdict
    file, line, frames = case.cut_off[0]
    innermost = "/".join(frames.rpartition("\n")[2].split("/")[-_SHOWN_OF_PATH:])
    note = f"{file}:{line}: a traceback breaks off, in {innermost}: its last line, which is"
    note += " missing here, says what failed: see the output of that process"
    return verdict._replace(notes=(*verdict.notes, note))


def _with_suspects(verdict: Verdict, case: Case) -> Verdict:
    main = verdict.evidence[0] if verdict.evidence else None
    only_ended = main is not None and main.code in _ENDED
    if (verdict.code and not only_ended) or case.ended_well or not case.find_suspects():
        return verdict
    judged = {(event.file, event.line) for event in case.events if main or not event.needs_failure}
    found = [event for event in case.suspects if (event.file, event.line) not in judged]
    strong = [event for event in found if not event.needs_failure]
    if main:
        telling = [event for event in strong if event.certainty != "possible"]
        found = (strong or found) if only_ended else telling
        return _with_line(verdict, _best(found), case) if found else verdict
    if not case.breaks_off:
        found = [] if case.says_end else of_only_streams(strong, case)
    return _of_line(verdict, _best(strong or found), case) if found else verdict


def _best(events: list[Event]) -> Event:
    """The first of the surest."""
    surest = min(CERTAINTIES.index(event.certainty) for event in events)
    return first([event for event in events if event.certainty == CERTAINTIES[surest]])


def _with_line(verdict: Verdict, event: Event, case: Case) -> Verdict:
    """A verdict that cannot tell the class, and the line."""
    main, *rest = verdict.evidence
    says = f"{verdict.says}; {event.says}"
    evidence = (main, event, *rest)[:MOST_EVIDENCE]
    verdict = verdict._replace(says=says, evidence=evidence)
    return with_cure(verdict, case, event, event.code) if event.cures else verdict


def _of_line(verdict: Verdict, event: Event, case: Case) -> Verdict:
    """The verdict on a line: in the class that it shows where a failure is seen, if any."""
    causes = [each for each in case.events if each.code and each.role in CAUSES]
    same = [each for each in causes if (each.file, each.line) == (event.file, event.line)]
    event = same[0] if same else event
    found = class_of(event.code)
    place = place_of([event], case, [])
    verdict = verdict._replace(
        code=found.code, certainty="possible", says=event.says, node=place.node, rank=place.rank,
        local_rank=place.local_rank, time=event.time, evidence=(event,), chain=(event,),
        misleads=found.misleads,
    )  # fmt: skip
    return with_cure(verdict, case, event, event.code)
