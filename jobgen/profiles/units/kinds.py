"""The kinds of values that are a time or a size."""

import re

from jobgen.profiles.kinds import Int, Kind, ProblemList, Schema, Text, pattern_schema
from jobgen.profiles.units.reading import SIZE, TIME, seconds_of, size_of
from jobgen.profiles.yaml_tree import Node, Scalar

_EXAMPLES = "90m, 24h, 1d12h, 1:30:00 or 2-12:00:00"


class Walltime(Kind):
    """A walltime with units, or as the scheduler writes it; it stays text (the plan reads it)."""

    literal = True
    pattern = rf"[0-9]+(:[0-9]+){{0,3}}|[0-9]+-[0-9]+(:[0-9]+){{0,2}}|{TIME}"

    def read(self, node: Node, problems: ProblemList) -> str | None:
        whole = isinstance(node, Scalar) and not isinstance(node.value, bool)
        if whole and re.fullmatch(self.pattern, str(node.value)):  # type: ignore[union-attr]
            return str(node.value)  # type: ignore[union-attr]
        text = re.sub("[-, ]", "", getattr(node, "text", ""))
        text += {"h": "m", "d": "h"}.get(re.sub("[^hd]", "", text)[-1:], "") * text[-1:].isdigit()
        right = re.fullmatch(TIME, text) and f"write {text}"
        problems.wrong_type(node, "a walltime", right or f"write it as {_EXAMPLES}")
        return None

    def schema(self) -> Schema:
        return {
            "type": ["string", "integer"],
            "pattern": pattern_schema(self.pattern),
            "minimum": 0,
            "errorMessage": f"expected a walltime: {_EXAMPLES}",
        }

    def in_words(self) -> str:
        return "a walltime"


class Duration(Int):
    """A whole number of `unit` ("minutes" or "seconds") from `low` to `high`, or a time.

    A time with a unit, such as 10m, becomes that number.
    """

    def __init__(self, unit: str, low: int, high: int) -> None:
        super().__init__(low, high)
        self.unit = unit

    def read(self, node: Node, problems: ProblemList) -> int | None:
        if isinstance(node, Scalar) and isinstance(node.value, str):
            seconds, size = seconds_of(node.text), 60 if self.unit == "minutes" else 1
            if seconds is None or seconds % size:
                nearest = -(-seconds // size) if seconds else 30
                hint = f"write {nearest}, or with a unit: {nearest}{self.unit[0]}"
                problems.wrong_type(node, f"whole {self.unit}", hint)
                return None
            node = Scalar(node.mark, node.text, seconds // size)
        return super().read(node, problems)

    def schema(self) -> Schema:
        message = f"expected {self.unit}, {self.in_words()}"
        pattern = pattern_schema(TIME)
        return {
            **super().schema(),
            "type": ["integer", "string"],
            "pattern": pattern,
            "errorMessage": message,
        }

    def in_words(self) -> str:
        return f"{super().in_words()}, or a time such as 10m"


# A number of megabytes, if it is a node's memory; gigabytes are fewer.
LEAST_MEGABYTES = 4000


class Size(Text):
    """A size of memory with its unit, such as `example`, or one of `words`; it is read as 512G."""

    def __init__(self, example: str, words: str = "") -> None:
        pattern = f"{words}|{SIZE}" if words else SIZE
        rule = f"`{words}`, or a size such as {example}" if words else f"a size, such as {example}"
        # Slurm would read a number alone as MB, and PBS as bytes.
        no_unit = (
            r"[1-9][0-9]{0,8}(\.[0-9]+)?",
            lambda number: f"write {number}{'G' if float(number) < LEAST_MEGABYTES else 'M'}",
        )
        super().__init__(pattern, rule, unlike=no_unit)

    def read(self, node: Node, problems: ProblemList) -> str | None:
        text = super().read(node, problems)
        return size_of(text) or text if text else None
