"""What a grammar is, and how a table of grammars is read.

A line of a table has a kind, options, and what they take; below it is the pattern of their values.

    NUMBER = a part of the patterns below, where <NUMBER> is
    list gres: NAME[:COUNT], with commas between several
        [a-z]+:<NUMBER>

The kind is `number`, `word`, or `list`, whose items have the pattern.
"""

import os
import re
from collections.abc import Callable
from typing import NamedTuple

from jobgen.explanation import read_patterns

# No expression is compiled before an option needs it: all together would slow the start.
_FLAGS = re.IGNORECASE | re.ASCII


class Grammar(NamedTuple):
    """The values of an option.

    `refused` returns the part of a value that is wrong, perhaps all of it; "" if it is accepted.
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


def words(takes: str, expression: str, separator: str = ",") -> Grammar:
    """Lists whose items match a regular expression; empty items are skipped, as by strtok(3)."""

    def refused(value: str) -> str:
        items = [each for each in re.split(f"[{separator}]", value) if each]
        return next((each for each in items if not re.fullmatch(expression, each, _FLAGS)), "")

    return Grammar(takes, refused, is_number=False)


def read_grammars(table: str) -> dict[str, Grammar]:
    """The grammars of a table beside this module, by their options."""
    grammars: dict[str, Grammar] = {}
    with open(os.path.join(os.path.dirname(__file__), table), encoding="utf-8") as stream:
        for line, expression in read_patterns(stream.read(), {}):
            names, _, takes = line.partition(": ")
            kind, *options = names.split()
            is_list, is_number = kind == "list", kind == "number"
            made = words(takes, expression) if is_list else pattern(takes, expression, is_number)
            grammars |= dict.fromkeys(options, made)
    return grammars
