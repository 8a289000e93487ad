"""Formats numbers and names for people, and compares a value with the median of all nodes."""

from collections.abc import Iterable, Sequence
from itertools import takewhile
from statistics import median

NO_VALUE = "–"
# Shares of the median that divide values into classes; a bound itself is in the better class.
BOUNDS = (0.9, 0.75, 0.5, 0.25)
NAME_CHARACTERS = 14


def number_text(value: float | None, unit: str = "") -> str:
    """A number with three digits, or all digits before the point: 0.0123, 1.2, 23.4, 12,345."""
    if value is None:
        return NO_VALUE
    if value and not 1e-4 <= abs(value) < 1e9:
        text = f"{value:.2e}"
    else:
        text = f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"
    return f"{text} {unit}".strip()


def bytes_text(size: int) -> str:
    """A size in the largest unit in which the number is at least 1: 64 KiB."""
    scaled, names = float(size), ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while scaled >= 1024 and len(names) > 1:
        scaled, names = scaled / 1024, names[1:]
    return number_text(scaled, names[0])


def seconds_text(seconds: float) -> str:
    """A time in the smallest unit of µs, ms and s in which the number is less than 1000."""
    for factor, unit in ((1e6, "µs"), (1e3, "ms")):
        if seconds * factor < 1000:
            return number_text(seconds * factor, unit)
    return number_text(seconds, "s")


def count_text(count: int, one: str, many: str = "") -> str:
    """A count with its noun: 1 node, 2 nodes, 1,024 nodes."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def fitness(value: float, middle: float, higher_is_better: bool) -> float:
    """The share of the median that a value reaches; 0.5 is half as good, also for a latency."""
    above, below = (value, middle) if higher_is_better else (middle, value)
    return 1.0 if above == below else above / below if below else float("inf")


def fitness_class(share: float) -> int:
    """The class of a share: from 0, at least 0.9 of the median, to 4, less than a quarter."""
    return sum(share < bound for bound in BOUNDS)


def middle_of(values: Iterable[float | None]) -> float | None:
    """The median of the values that exist."""
    present = [value for value in values if value is not None]
    return median(present) if present else None


def short_names(names: Sequence[str]) -> list[str]:
    """Names for the axes of drawings, without the words that are common to the starts or ends."""
    if len(names) < 2:
        return [shortened(name) for name in names]
    start = _common_start(names)
    while start and start[-1] not in "-_.":
        start = start[:-1]
    end = _common_start([name[::-1] for name in names])[::-1]
    end = end[max(end.find("."), 0) :] if "." in end else ""
    shorter = [name[len(start) : len(name) - len(end)] for name in names]
    return [shortened(name) for name in (shorter if all(shorter) else names)]


def _common_start(names: Sequence[str]) -> str:
    ends = zip(min(names), max(names), strict=False)  # sorted, all others are between
    return "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], ends))


def shortened(name: str) -> str:
    """A name of at most NAME_CHARACTERS: the middle of a longer name is cut out."""
    if len(name) <= NAME_CHARACTERS:
        return name
    return f"{name[: NAME_CHARACTERS - 7]}…{name[-6:]}"
