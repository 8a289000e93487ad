"""Durations and points in time, as Slurm reads them (src/common/parse_time.c)."""

import re

from jobgen.lint.option_values.grammar import Grammar, pattern

# The longest first. After a unit, the rest is read as one more time.
_UNIT = "seconds?|minutes?|hours?|days?|weeks?"
_MINUTES = r":[0-5]\d(:[0-5]\d)?\s*"
_TIME = rf"(0?\d|1[0-2]){_MINUTES}[ap]m|([01]?\d|2[0-3]){_MINUTES}(?![ap]m)"
# A second digit belongs to the number, if there is one.
_MONTH, _DAY = r"(0[1-9]|1[0-2]|[1-9](?!\d))", r"(0[1-9]|[12]\d|3[01]|[1-9](?!\d))"
_DATE = rf"\d{{4}}-{_MONTH}-{_DAY}|{_MONTH}[./]?{_DAY}[./]?(\d\d)?"
_NAMES = "today|tomorrow|midnight|noon|elevenses|fika|teatime"
_POINT = rf"({_NAMES}|{_TIME}|{_DATE})(?!\d)[\sT-]*"
_DELTA = rf"now\s*[+-]\s*\d[\d\s]*(({_UNIT})[\sT-]*|$)"


def _refused_duration(value: str) -> str:
    """`_is_valid_timespec`: at most one dash, then at most two colons, with digits around them."""
    if value.lower() in ("-1", "infinite", "unlimited"):
        return ""
    dashes, colons = value.count("-"), value.count(":")
    numbers = len(re.findall("[0-9]+", value))
    is_valid = (
        re.fullmatch("[0-9]*-?[0-9:]*", value)
        and colons <= 2
        and numbers >= (colons + dashes + 1 if colons else 1)
    )
    return "" if is_valid else value or "nothing"


DURATION = Grammar(
    "minutes, minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes or"
    " days-hours:minutes:seconds",
    _refused_duration,
)
MOMENT = pattern(
    "HH:MM[:SS], YYYY-MM-DD[THH:MM[:SS]], MM/DD/YY, now+COUNT with seconds, minutes, hours, days or"
    " weeks, or today, tomorrow, midnight, noon, teatime",
    rf"uts\d{{7,}}|now\s*|[\sT-]*({_DELTA}|{_POINT})({_POINT})*",
)
