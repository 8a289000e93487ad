"""Says which machines end soon, and which have ended and are not retired yet.

    python checks/check_ends.py [--today DAY] [--report FILE]

The exit code is 1 if there is one. With --report, issues.py makes issues of what was found.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from registry import Report, name_of, profile_files, read, write_reports

SOON = 60  # days
_NEAR = "Does the site still name this day, and is there a profile of what follows?"
_PAST = "Set `state: retired` in the profile, and remove its facts and its golden script."


def main(words: list[str] | None = None) -> int:
    """The program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--today", type=date.fromisoformat, default=date.today())
    parser.add_argument("--report", type=Path, help="a file for issues.py")
    options = parser.parse_args(words)
    reports = [
        report
        for file in profile_files()
        for report in ends(name_of(file), read(file), options.today)
    ]
    for each in filter(lambda each: each.text, reports):
        print(f"{each.title}: {each.text.splitlines()[0]}")
    if options.report:
        write_reports(options.report, reports)
    return 1 if any(each.text for each in reports) else 0


def ends(name: str, profile: dict[str, Any], today: date) -> Iterator[Report]:
    """The two reports of a profile, of which one at most says something."""
    soon = past = ""
    day = profile.get("ends", "null")
    if day not in ("", "null", "~") and profile.get("state") != "retired":
        days = (date.fromisoformat(day) - today).days
        successor = profile.get("successor")
        follows = f"`{successor}` follows." if successor else "No successor is named: is there one?"
        if days < 0:
            past = f"Its last day was {day}. {follows}\n\n{_PAST}\n"
        elif days <= SOON:
            soon = f"Its last day is {day}, in {days} days. {follows}\n\n{_NEAR}\n"
    yield Report(f"{name}: ends soon", soon)
    yield Report(f"{name}: has ended", past)


if __name__ == "__main__":
    sys.exit(main())
