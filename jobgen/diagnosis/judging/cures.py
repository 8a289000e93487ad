"""The cure that fits a case: what a rank was doing, what started it, and its exception."""

import re
from collections.abc import Iterable
from itertools import chain

from jobgen.diagnosis.classes import choices, class_of, codes_with, cure
from jobgen.diagnosis.events import Event, Verdict
from jobgen.diagnosis.judging.case import Case
from jobgen.diagnosis.lines.activities import activities, all_activities, words_for
from jobgen.diagnosis.lines.matching import filled

_NEAR = 40  # lines between an event and a traceback that is cut off
LATER_RANK = "later-rank"  # a case of cures: the line is of another rank than 0
_EXCEPTION = r"(?:\w+\.)*(\w+)(?::|$)"


def with_cure(verdict: Verdict, case: Case, main: Event, code: str) -> Verdict:
    """The verdict with the cure of the main event's sign, or of the class.

    If the cure is for what the rank was doing, the verdict says what it was.
    """
    cures = filled(main.cures, main.groups) or class_of(code).cures
    general, *special = choices(cures)
    named = {word for name, _ in special for word in name.split()[1::2]}
    doing = activities(_texts_on(case, main, verdict), named) if named else ()
    exception = re.match(_EXCEPTION, main.says)
    later = [LATER_RANK] * ((main.rank or 0) > 0)
    facts = {*doing, *case.launchers, *case.starts, *later, exception[1] if exception else ""}
    name, text = next((each for each in special if {*each[0].split()[1::2]} <= facts), general)
    done = next(
        (words for each in doing if each in name.split() and (words := words_for(each))), ""
    )
    says = f"{verdict.says}, while {done}" if done else verdict.says
    return verdict._replace(says=says, cure=cure(text, is_jobgens=case.is_jobgens))


def _texts_on(case: Case, main: Event, verdict: Verdict) -> Iterable[str]:
    """Texts that show what the rank was doing; of ranks that waited, also those on the others.

    Without a traceback of its own, a part of one that stands near may be its.
    """
    near = [
        frames
        for file, line, frames in case.cut_off
        if file == main.file and abs(line - main.line) <= _NEAR
    ]
    if main.code in codes_with("waiting"):
        others = (event.beside for event in verdict.chain)
        return chain(main.beside, *others, near)
    has_own = main.context or not near or activities(main.beside, all_activities())
    return main.beside if has_own else near
