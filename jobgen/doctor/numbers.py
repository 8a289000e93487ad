"""Numbers as people read them, and how a value compares with the others."""

from collections.abc import Iterable, Sequence
from itertools import takewhile
from statistics import median

NO_VALUE = "–"
# How much of the median a value reaches; each bound is the first of its class.
BOUNDS = (0.9, 0.75, 0.5, 0.25)
NAME_CHARACTERS = 14


def number_text(value: float | None, unit: str = "") -> str:
    """Three digits, or all before the point: 0.0123, 1.2, 23.4, 12,345."""
    if value is None:
        return NO_VALUE
    if value and not 1e-4 <= abs(value) < 1e9:
        text = f"{value:.2e}"
    else:
        text = f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"
    return f"{text} {unit}".strip()


def bytes_text(size: int) -> str:
    """A size in the largest unit of which it has at least one: 64 KiB."""
    scaled, names = float(size), ["bytes", "KiB", "MiB", "GiB", "TiB"]
    while scaled >= 1024 and len(names) > 1:
        scaled, names = scaled / 1024, names[1:]
    return number_text(scaled, names[0])


def seconds_text(seconds: float) -> str:
    """A time in the unit in which it has one to three digits before the point."""
    for factor, unit in ((1e6, "µs"), (1e3, "ms")):
        if seconds * factor < 1000:
            return number_text(seconds * factor, unit)
    return number_text(seconds, "s")


def count_text(count: int, one: str, many: str = "") -> str:
    """1 node, 2 nodes, 1,024 nodes."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def fitness(value: float, middle: float, higher_is_better: bool) -> float:
    """How much of the median a value reaches; 0.5 is half as good, in either direction."""
    above, below = (value, middle) if higher_is_better else (middle, value)
    return 1.0 if above == below else above / below if below else float("inf")


def fitness_class(share: float) -> int:
    """0 for nearly the median or better, up to 4 for less than a quarter of it."""
    return sum(share < bound for bound in BOUNDS)


def middle_of(values: Iterable[float | None]) -> float | None:
    """The median of the values that exist."""
    present = [value for value in values if value is not None]
    return median(present) if present else None


def short_names(names: Sequence[str]) -> list[str]:
    """Names without the words that all begin and end with, for the axes of drawings."""
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
    ends = zip(min(names), max(names), strict=False)  # all others are between them
    return "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], ends))


def shortened(name: str) -> str:
    """A name with its middle cut out, if it is long."""
    if len(name) <= NAME_CHARACTERS:
        return name
    return f"{name[: NAME_CHARACTERS - 7]}…{name[-6:]}"
