"""Values that stand for others: what a reader of documentation or a program fills in."""

import re

from jobgen.lint.reader.commands import OUTER

# Of a variable, a template, `<name>` (`_name_` in a document), `...` and `[optional]`. In an array,
# %4 is none.
_TEMPLATE = re.compile(
    rf"[$`<>{{}}!…{OUTER}]|\.\.\.|__|(?<!\w)_(\w*_)?(?!\w)|@\w+@|%[A-Za-z(]|\[[A-Za-z]|XX"
    r"|\b[A-Z][A-Z]+_[a-z]"
)
_UNIT = "([kmgt]b?)?"
_CAPITALS = rf"[A-Z][A-Z_]*{_UNIT}(?![a-z])"
_FORMAT = "[dhms]{1,2}|yyyy"
_LETTER = rf"(n|x+|y+){_UNIT}"
_WORD = (
    "(your|my|num|number|nb|job|some|any|the|time|count|size|amount|value|id|min|max)[A-Za-z_-]*"
)
_NAME = re.compile(rf"(?<![\w.])({_CAPITALS}|{_FORMAT}|{_LETTER}|{_WORD})(?![\w.])")
_JOB = re.compile(r"(?i):_*((your|my|prev\w*|the)_?)?(job|id|x+|n+\b|pid)")


def is_template(value: str) -> bool:
    """Whether a program replaces a part of it before the scheduler reads it."""
    return bool(_TEMPLATE.search(value))


def is_placeholder(value: str, is_number: bool) -> bool:
    """Whether a reader replaces it; where a number belongs, that is any name in capitals, too."""
    return bool((_NAME if is_number else _JOB).search(value))
