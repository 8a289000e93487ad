"""The cure that fits a case: what a rank was doing, what started it, and its exception."""

import re
from itertools import chain

from jobgen.diagnosis.classes import choices, class_of, codes_with, cure
from jobgen.diagnosis.events import Event, Verdict
from jobgen.diagnosis.judging.case import Case
from jobgen.diagnosis.lines.activities import words_for
from jobgen.diagnosis.lines.matching import filled

_NEAR = 40  # lines between an event and a traceback that is cut off
_EXCEPTION = r"(?:\w+\.)*(\w+)(?::|$)"


def with_cure(verdict: Verdict, case: Case, main: Event, code: str) -> Verdict:
    """The verdict with the cure of the main event's sign, or of the class.

    If the cure is for what the rank was doing, the verdict says what it was.
    """
    activities = _activities_of(case, main, verdict)
    exception = re.match(_EXCEPTION, main.says)
    facts = {*activities, *case.launchers, exception[1] if exception else ""}
    cures = filled(main.cures, main.groups) or class_of(code).cures
    general, *special = choices(cures)
    name, text = next((each for each in special if {*each[0].split()[1::2]} <= facts), general)
    done = next(
        (words for each in activities if each in name.split() and (words := words_for(each))), ""
    )
    says = f"{verdict.says}, while {done}" if done else verdict.says
    return verdict._replace(says=says, cure=cure(text, is_jobgens=case.is_jobgens))


def _activities_of(case: Case, main: Event, verdict: Verdict) -> tuple[str, ...]:
    """What the rank was doing; of ranks that waited, also what others of them were doing.

    Without a traceback of its own, a part of one that stands near may be its.
    """
    near = (
        names
        for file, line, names in case.cut_off
        if file == main.file and abs(line - main.line) <= _NEAR
    )
    if main.code in codes_with("waiting"):
        others = (event.activities for event in verdict.chain)
        return tuple(dict.fromkeys(chain(main.activities, *others, *near)))
    return main.activities if main.activities or main.context else tuple(chain(*near))
