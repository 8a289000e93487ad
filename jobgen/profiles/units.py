"""Times and sizes as people write them, and the kinds of values that are times or sizes.

Times: `24h`, `1d12h`, `90m`; sizes: `100GB`, `512 GiB`, `1.5T`. The patterns are for Python and for
JavaScript (the JSON Schema), so each lists capitals and small letters. Not here: the meaning of a
number without a unit, which each scheduler knows (schedulers/).
"""

import re

from jobgen.profiles.kinds import Int, Kind, ProblemList, Schema, Text, pattern_schema
from jobgen.profiles.yaml_tree import Node, Scalar

_UNITS = {
    604800: "[wW](?:eeks?)?",
    86400: "[dD](?:ays?)?",
    3600: "[hH](?:(?:ou)?rs?)?",
    60: "[mM](?:in(?:ute)?s?)?",
    1: "[sS](?:ec(?:ond)?s?)?",
}
_NUMBER = r"[0-9]{1,9}(?:\.[0-9]{1,3})?"
_PARTS = "".join(f"(?:({_NUMBER}) *{unit} *)?" for unit in _UNITS.values())
TIME = f"(?=[0-9]){_PARTS.replace(f'({_NUMBER})', _NUMBER)}"
_READ_TIME = re.compile(f"(?=[0-9]){_PARTS}")

# A size is not zero, and has at most nine digits: Slurm wraps sizes beyond 64 bits.
_WHOLE, _BROKEN = "[1-9][0-9]{0,8} *[KMGTkmgt]", r"[0-9]{1,5}\.[0-9]{1,3} *[MGTmgt]"
SIZE = rf"(?!0+\.0+ *[A-Za-z])(?:{_WHOLE}|{_BROKEN})(?:[iI]?[bB])?"


def seconds_of(text: str) -> int | None:
    """The seconds of a time in which each number has a unit; None for any other text."""
    found = _READ_TIME.fullmatch(text)
    if not found:
        return None
    parts = zip(found.groups(), _UNITS, strict=True)
    return sum(_thousandths(part) * unit for part, unit in parts if part) // 1000


def _thousandths(number: str) -> int:
    """Exact: numbers have at most three decimals (_NUMBER). (`fractions` takes 5 ms to import.)"""
    return round(1000 * float(number))


def size_of(text: str) -> str | None:
    """Returns a size in the form that both schedulers take, such as 512G; None for other texts.

    The units of both are powers of 1024, also if written as GB (sbatch(1) --mem; pbs_resources(7B),
    size). A fraction is counted in the next smaller unit: 1.5T is 1536G.
    """
    if not re.fullmatch(SIZE, text):
        return None
    number, unit = re.fullmatch(r"([0-9.]+) *([A-Za-z]).*", text).groups()  # type: ignore[union-attr]
    unit = unit.upper()
    if "." not in number:
        return f"{number}{unit}"
    smaller = "KMGT"["KMGT".index(unit) - 1]
    return f"{max(1, _thousandths(number) * 1024 // 1000)}{smaller}"


_EXAMPLES = "90m, 24h, 1d12h, 1:30:00 or 2-12:00:00"


class Walltime(Kind):
    """A walltime with units, or in the scheduler's form; it stays text, which the planner reads."""

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

    A time with a unit, such as 10m, becomes a number of `unit`.
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


# A size without a unit is in gigabytes below the first number, and in megabytes from the second on.
# Between them, what a job requests may be in either: scripts have --mem-per-cpu=3850 and --mem=800.
_LEAST_DOUBTFUL, _LEAST_MEGABYTES = 500, 4000
_AS_SLURM = ", as Slurm takes it, or "  # in megabytes; PBS takes a number alone as bytes


def sizes_meant(number: str, is_requested: bool = True) -> list[str]:
    """Returns the sizes that a number may mean: what Slurm takes it for is first if that may be."""
    least = _LEAST_DOUBTFUL if is_requested else _LEAST_MEGABYTES
    megabytes, gigabytes = float(number) >= least, float(number) < _LEAST_MEGABYTES
    return [f"{number}M"] * megabytes + [f"{number}G"] * gigabytes


class Size(Text):
    """A size of memory with its unit, such as `example`, or one of `words`; it is read as 512G."""

    def __init__(self, example: str, words: str = "", is_requested: bool = True) -> None:
        pattern = f"{words}|{SIZE}" if words else SIZE
        rule = f"`{words}`, or a size such as {example}" if words else f"a size, such as {example}"
        no_unit = (
            r"[1-9][0-9]{0,8}(\.[0-9]+)?",
            lambda number: f"write {_AS_SLURM.join(sizes_meant(number, is_requested))}",
        )
        super().__init__(pattern, rule, unlike=no_unit)

    def read(self, node: Node, problems: ProblemList) -> str | None:
        text = super().read(node, problems)
        return size_of(text) or text if text else None
