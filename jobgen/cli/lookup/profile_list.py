"""`jobgen profiles list`: all profiles, under headings."""

from __future__ import annotations

from jobgen.cli.lookup.text import columns
from jobgen.errors import JobgenError, report
from jobgen.generator import find_profiles
from jobgen.profiles.search import BASES, HEADINGS, NOT_RUN, SITES, heading_of, profile_files
from jobgen.scripts.write import write


def list_profiles() -> int:
    """Write all profiles under headings, your own first; 1 if one cannot be read.

    A base has no scheduler. Your own bases are not shown: only who wrote them extends them.
    """
    rows: dict[str, list[tuple[str, str, str]]] = {name: [] for name in HEADINGS}
    errors = []
    profiles = find_profiles()
    for name, file in sorted(profile_files().items()):
        try:
            profile = profiles.load(name).profile
        except JobgenError as error:
            errors.append(str(error))
            continue
        heading = heading_of(file)
        if profile.scheduler or heading == BASES:
            text = profile.description
            if heading == SITES:
                text = text.removesuffix(NOT_RUN)
            rows[heading].append((name, profile.scheduler or "", text))
    write(_page(rows))
    for text in errors:
        report(text)
    return 1 if errors else 0


def _page(rows: dict[str, list[tuple[str, str, str]]]) -> str:
    """The headings that have profiles, with the columns of all aligned."""
    lines = columns([row for group in rows.values() for row in group]).splitlines()
    text = ""
    for heading, group in rows.items():
        own_lines, lines = lines[: len(group)], lines[len(group) :]
        body = "".join(f"  {line}\n" for line in own_lines)
        text += f"{heading}:\n{body}\n" if group else ""
    return text.removesuffix("\n")
