"""What a grammar is, and the small ones that several options share."""

import re
from collections.abc import Callable
from typing import NamedTuple

# No expression is compiled before an option needs it: all together would slow the start.
_FLAGS = re.IGNORECASE | re.ASCII


class Grammar(NamedTuple):
    """The values of an option.

    `refused` has the part of a value that is refused, which may be all of it; "" if it is taken.
    `takes` says what is taken, as the end of a sentence: "--nodes takes …".
    """

    takes: str
    refused: Callable[[str], str]
    is_number: bool = True  # of digits and units, so that a word may be a placeholder


def pattern(takes: str, expression: str, is_number: bool = True) -> Grammar:
    """The values that match a regular expression; upper and lower case are the same."""

    def refused(value: str) -> str:
        return "" if re.fullmatch(expression, value, _FLAGS) else value or "nothing"

    return Grammar(takes, refused, is_number)


def choices(takes: str, expression: str) -> Grammar:
    """As `pattern`, for an option that takes words, so that a word is no placeholder."""
    return pattern(takes, expression, is_number=False)


def words(takes: str, expression: str, separator: str = ",") -> Grammar:
    """Lists whose items match a regular expression; empty items are skipped, as by strtok(3)."""

    def refused(value: str) -> str:
        items = [each for each in re.split(f"[{separator}]", value) if each]
        return next((each for each in items if not re.fullmatch(expression, each, _FLAGS)), "")

    return Grammar(takes, refused, is_number=False)
