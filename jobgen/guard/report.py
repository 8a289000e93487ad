"""Sums up the log of the service: what was found, and what the refused jobs would have cost."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from jobgen.errors import counted
from jobgen.guard.judge import REFUSED, REHEARSED, WARNED
from jobgen.lint.rules import rules


def report_on(lines: Iterable[str], since: str = "") -> str:
    """The report on the lines of logs, from a day such as 2026-11-01."""
    found = [_entry(line) for line in lines]
    entries = [each for each in found if each and each["time"] >= since]
    entries.sort(key=lambda each: each["time"])
    unreadable = f"; unreadable lines {found.count(None)}" if None in found else ""
    if not entries:
        return f"no submissions{unreadable}\n"
    words = Counter(each["verdict"] for each in entries)
    first, last = entries[0]["time"][:10], entries[-1]["time"][:10]
    text = f"{counted(len(entries) - words[REHEARSED], 'submission')} from {first} to {last}\n"
    text += "; ".join(f"{word} {count}" for word, count in words.most_common()) + unreadable + "\n"
    times = sorted(each["ms"] for each in entries if "ms" in each)
    if times:
        middle, most = times[len(times) // 2], times[len(times) * 99 // 100]
        text += f"time: half within {middle} ms, 99 of 100 within {most} ms\n"
    return text + _hours(entries) + "".join(_by_rule(entries))


def _entry(line: str) -> dict[str, Any] | None:
    """A line as an entry; None if it is none: its end may be missing, if the disk was full."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) and {"time", "verdict"} <= entry.keys() else None


def _hours(entries: list[dict[str, Any]]) -> str:
    refused = [each for each in entries if each["verdict"] == REFUSED]
    hours = [each["gpu_hours"] for each in refused if "gpu_hours" in each]
    if not refused:
        return ""
    text = f"refused jobs asked for {sum(hours):,.0f} GPU-hours"
    unknown = len(refused) - len(hours)
    return text + (f"; {unknown} more did not say their GPUs or time\n" if unknown else "\n")


def _by_rule(entries: list[dict[str, Any]]) -> Iterator[str]:
    found = {
        word: Counter(code for each in entries if each["verdict"] == word for code in each["codes"])
        for word in (REFUSED, WARNED)
    }
    refused, warned = found[REFUSED], found[WARNED]
    if refused or warned:
        yield "\nrule   refused  warned\n"
    for code, _ in (refused + warned).most_common():
        title = rules()[code].title if code in rules() else ""
        yield f"{code}  {refused[code]:>7}  {warned[code]:>6}  {title}\n"
