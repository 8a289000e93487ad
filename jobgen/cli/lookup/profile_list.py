"""`jobgen profiles list`: all profiles, under headings."""

from __future__ import annotations

from pathlib import Path

from jobgen.cli.lookup.text import columns
from jobgen.errors import JobgenError, report
from jobgen.generator import find_profiles
from jobgen.paths import bundled
from jobgen.profiles.search import profile_files
from jobgen.scripts.write import write

OWN = "Your own"
# The folders of the bundled profiles, with their headings.
BUNDLED = {
    "": "Tutorials' systems",
    "sites": "Public sites, from their documentation, not run there",
    "fabrics": "Bases, to extend",
}
# How the description of a public site ends; its heading says the same of all.
NOT_RUN = "; from its documentation, not run there"


def list_profiles() -> int:
    """Write all profiles under headings, your own first; 1 if one cannot be read.

    A base has no scheduler. Your own bases are not shown: only who wrote them extends them.
    """
    rows: dict[str, list[tuple[str, str, str]]] = {name: [] for name in (OWN, *BUNDLED.values())}
    errors = []
    profiles = find_profiles()
    for name, file in sorted(profile_files().items()):
        try:
            profile = profiles.load(name).profile
        except JobgenError as error:
            errors.append(str(error))
            continue
        heading = _heading(file)
        if profile.scheduler or heading == BUNDLED["fabrics"]:
            text = profile.description
            if heading == BUNDLED["sites"]:
                text = text.removesuffix(NOT_RUN)
            rows[heading].append((name, profile.scheduler or "", text))
    write(_page(rows))
    for text in errors:
        report(text)
    return 1 if errors else 0


def _heading(file: Path) -> str:
    folder, file = bundled("profiles").resolve(), file.resolve()  # here, both may be ./profiles
    if not file.is_relative_to(folder):
        return OWN
    return BUNDLED.get(file.parent.relative_to(folder).as_posix().removeprefix("."), BUNDLED[""])


def _page(rows: dict[str, list[tuple[str, str, str]]]) -> str:
    """The headings that have profiles, with the columns of all aligned."""
    lines = columns([row for group in rows.values() for row in group]).splitlines()
    text = ""
    for heading, group in rows.items():
        own_lines, lines = lines[: len(group)], lines[len(group) :]
        body = "".join(f"  {line}\n" for line in own_lines)
        text += f"{heading}:\n{body}\n" if group else ""
    return text.removesuffix("\n")
