"""The classes of failure, a text for each: host-memory.txt is the text of the class host-memory.

jobgen/explanation.py explains the format of a text. The page says what happens, how logs show the
failure, and has the sources; the last part has the signs (jobgen/diagnosis/signs.py). The fields:

    Cure: what to do; of <words|words>, the second are for scripts of jobgen
        Cure while saving: what to do in place of it, where a rank did this (lines/activities.txt)
        Cure under mpirun of OSError: the same, for what started the ranks, or how
        (lines/census.py; `later-rank` if the line is of another rank than 0), and
        for the exception; the first counts of which all words fit
    Send: what the site's administrators need, if only they can mend it
    Not this: what looks like the cause, and is not
    Explains: the codes of the classes that follow from this class, where both are seen
    Traits: names from TRAITS, which the judge uses besides the signs

index.tsv has of all texts what is needed for each log. Here is how a class is found by its code.
Not here: how lines are read, and how the first failure is found.
"""

from __future__ import annotations

import os
import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from jobgen.diagnosis.signs import Sign

TRAITS = {
    "scheduler": "the scheduler ended what was left: it is the cause only if nothing failed before",
    "outside": "the node of its lines only wrote them, and did not fail",
    "general": "a process failed, and not why: any other class says more",
    "effect": "its lines show that something failed, and not why: it is never sure",
    "setup": "a rank that ended with an error is not named for it: the others would have ended so",
    "waiting": "ranks waited for others in vain: not the cause if a process had ended badly before",
    "peers": "ranks waited for others, or lost them: if a GPU of a node is broken, it is the cause",
    "gpu": "a broken GPU of its node can be behind it",
    "process": "a process ended so: on a node that names no rank, it was the node's launcher",
    "repair": "the node that it names needs repair: other jobs should leave it out",
    "last-resort": "its signs count only where no other class is seen",
    "plain": "it only says that a process failed: a line of its message may be another class's",
}
_FOLDER = os.path.dirname(__file__)
_FIELDS = ("Cure", "Send", "Not this", "Explains", "Traits")
_SPECIAL = re.compile(r" Cure ((?:(?:while|under|of) [\w-]+ ?)+): ")
_EITHER = re.compile(r"<([^<>|]*)\|([^<>|]*)>")
# What joins an option to the words before it, and brackets around it.
_JOINT = re.compile(r"^[ ;:,]*(?:or )?|[ ;:,]+$")
_ALL_IN_BRACKETS = re.compile(r"^\((.*)\)$")


class FailureClass(NamedTuple):
    """A class of failure, as its text says."""

    code: str  # such as host-memory
    title: str
    page: str
    signs: tuple[Sign, ...]
    cures: str  # in one line, with words for scripts of jobgen; groups of patterns are in braces
    send: str
    misleads: str
    explains: frozenset[str]
    traits: frozenset[str]

    @property
    def cure_for_everybody(self) -> str:
        """What to do with any script, and after it jobgen's options."""
        return cure(choices(self.cures)[0][1], is_jobgens=False)

    @property
    def special_cures(self) -> list[tuple[str, str]]:
        """The same for special cases, each behind its case, such as `while saving`."""
        return [(case, cure(text, is_jobgens=False)) for case, text in choices(self.cures)[1:]]


def choices(cures: str) -> list[tuple[str, str]]:
    """The cures in a text, each behind its case, such as `while saving`; the first has none."""
    general, *special = _SPECIAL.split(cures)
    return [("", general), *zip(special[::2], special[1::2], strict=True)]


def cure(cures: str, *, is_jobgens: bool) -> str:
    """What to do, as a script of jobgen needs it, or in words for any script, then for jobgen's."""
    if is_jobgens:
        return _EITHER.sub(r"\2", cures)
    options = [_ALL_IN_BRACKETS.sub(r"\1", _JOINT.sub("", m[2])) for m in _EITHER.finditer(cures)]
    jobgens = "; ".join(dict.fromkeys(filter(None, options)))
    return _EITHER.sub(r"\1", cures) + (f"; with jobgen: {jobgens}" if jobgens else "")


def codes() -> list[str]:
    """The codes of all classes, sorted; no text is read."""
    return sorted(name[:-4] for name in os.listdir(_FOLDER) if name.endswith(".txt"))


def classes() -> dict[str, FailureClass]:
    """All classes by their codes, sorted; all texts are read."""
    return {code: class_of(code) for code in codes()}


@cache
def codes_with(trait: str) -> frozenset[str]:
    """The codes of the classes that have a trait; no text is read."""
    from jobgen.diagnosis.classes.index import index

    return frozenset(code for code, traits in index().traits.items() if trait in traits)


def file_of(code: str) -> str:
    """The file with the text of a class."""
    return os.path.join(_FOLDER, f"{code}.txt")


@cache
def class_of(code: str) -> FailureClass:
    """The class of a code. Raises FileNotFoundError if there is none."""
    # Imported here, because a shell completion needs only the codes.
    from jobgen.diagnosis.signs import read_signs
    from jobgen.explanation import read_explanation

    text = read_explanation(file_of(code), _FIELDS, "Signs")
    cures, send, misleads, *lists = text.fields.values()
    explains, traits = (frozenset(words.split()) for words in lists)
    signs = tuple(read_signs(text.last))
    return FailureClass(code, text.title, text.page, signs, cures, send, misleads, explains, traits)
