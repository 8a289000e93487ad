"""Reads times (`24h`, `1d12h`, `90m`) and sizes (`100GB`, `512 GiB`, `1.5T`).

The patterns are for Python and for JavaScript (the JSON Schema), so each says both cases itself.
"""

import re

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

# No zero, and at most nine digits: Slurm wraps sizes beyond 64 bits.
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
    """Exact: no number has more than three decimals (_NUMBER); fractions takes 5 ms to import."""
    return round(1000 * float(number))


def size_of(text: str) -> str | None:
    """A size in the form that both schedulers take, such as 512G; None for what is no size.

    Their units are powers of 1024, also where they write GB (sbatch(1), --mem; pbs_resources(7B),
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
