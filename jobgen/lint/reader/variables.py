"""The variables of a script that have one value, which is known before the script runs."""

import re
from collections import Counter
from collections.abc import Sequence, Set

from jobgen.bounds import LINT_VALUE_CHARACTERS
from jobgen.lint.reader.commands import Assignment, Word

_EXPANSION = re.compile(r"\$(?:\{#?([A-Za-z_]\w*)(?:\[[\d@*]+\])?\}|([A-Za-z_]\w*))")


class Constants:
    """The variables and arrays that every run of a script sets exactly once.

    The variables in `dynamic` are set by something other than an assignment, such as a loop.
    """

    def __init__(self, assignments: Sequence[Assignment], dynamic: Set[str]) -> None:
        lasting = [each for each in assignments if not each.is_for_command]
        times_set = Counter(each.name for each in lasting)
        self.assignments: dict[str, Assignment] = {}  # of each constant, by its name
        self._values: dict[str, str] = {}
        for each in lasting:
            is_set_once = times_set[each.name] == 1 and each.name not in dynamic
            if is_set_once and each.is_certain and not each.is_appended and each.depth == 0:
                self._add(each)

    def _add(self, assignment: Assignment) -> None:
        """Add a constant; its value may contain the values of earlier constants."""
        value = assignment.value
        if value.raw.startswith(("'", "$'")):
            self._values[assignment.name] = value.text
        elif assignment.items is None and not value.has_substitution:
            self._values[assignment.name] = self.resolved(value.text)
        self.assignments[assignment.name] = assignment

    def resolved(self, text: str, before: int | None = None) -> str:
        """`text` with the values of constants, which add at most LINT_VALUE_CHARACTERS.

        If the offset `before` is given, only constants that are set before this offset count.
        """
        remaining = LINT_VALUE_CHARACTERS

        def value(found: re.Match[str]) -> str:
            nonlocal remaining
            text = self._value(found, before)
            growth = max(0, len(text) - len(found[0]))
            if growth > remaining:
                return found[0]
            remaining -= growth
            return text

        return _EXPANSION.sub(value, text)

    def _value(self, found: re.Match[str], before: int | None) -> str:
        """The value of an expansion; the expansion itself if its value is not known."""
        expansion, name = found[0], found[1] or found[2]
        assignment = self.assignments.get(name)
        if not assignment or (before is not None and assignment.offset > before):
            return expansion
        if assignment.items is not None:
            return _array_value(expansion, assignment.items)
        return self._values.get(name, expansion)

    def array(self, expansion: str, before: int) -> tuple[Word, ...]:
        """The items that "${NAME[@]}" stands for; nothing if they are not known."""
        found = re.fullmatch(r"\$\{(\w+)\[@\]\}", expansion)
        assignment = self.assignments.get(found[1]) if found else None
        if assignment and assignment.offset < before:
            return assignment.items or ()
        return ()


def _array_value(expansion: str, items: Sequence[Word]) -> str:
    """The value of ${NAME[0]} or ${#NAME[@]}; any other expansion stays as it is."""
    index = re.search(r"\[(\d+)\]", expansion)
    if expansion.startswith("${#") and not index and all(item.is_literal for item in items):
        return str(len(items))
    if re.search(r"#|\[[@*]", expansion):
        return expansion
    number = int(index[1]) if index else 0
    return items[number].text if number < len(items) and items[number].is_literal else expansion
