"""The time of a line, in seconds since its year began."""

import re
from datetime import datetime, timedelta

_SEARCHED = 200  # characters at the beginning of a line
_CLOCK = r"(?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)"
_DATE = rf"\b(?:\d{{4}})-(?P<month>\d\d)-(?P<day>\d\d)[T _]{_CLOCK}(?:[.,](?P<f>\d{{1,9}}))?"
# glog's, which torch uses: E1122 19:00:00.123456; its C++ writes March as 3, and E903 in September
_GLOG = rf"(?:^|[\[\s])[EWIF](?P<month>\d{{1,2}})(?P<day>\d\d) {_CLOCK}\.(?P<f>\d{{1,9}})"


def line_time(text: str) -> float | None:
    """The first time that a line shows, or None."""
    head = text[:_SEARCHED]
    found = re.search(_GLOG, head) or re.search(_DATE, head)
    if not found:
        return None
    month, day, hour, minute, second = (int(found[name]) for name in ("month", "day", *"hms"))
    try:
        whole = datetime(2000, month, day, hour, minute, second) - datetime(2000, 1, 1)
    except ValueError:  # digits that are no time
        return None
    return whole.total_seconds() + float(f"0.{found['f'] or 0}")


def clock(time: float) -> str:
    """A time as text: the day and the clock."""
    return f"{datetime(2000, 1, 1) + timedelta(seconds=time):%m-%d %H:%M:%S}"
