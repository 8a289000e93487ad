"""The words of `jobgen lint`, read without click: its import takes as long as linting a script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jobgen.cli.lint.actions import lint_files
from jobgen.cli.lint.options import FORMATS, OPTIONS


def run_plain(words: Sequence[str]) -> int | None:
    """Lint what the words name; None if click has to say what they are, such as --help."""
    rows = {flag: (name, row) for name, row in OPTIONS.items() for flag in row.flags}
    files: list[str] = []
    fields: dict[str, Any] = {}
    rest = iter(words[1:])
    for word in rest:
        if not word.startswith("-") or word == "-":
            files.append(word)
            continue
        flag, equals, value = word.partition("=")
        name, row = rows.get(flag, ("", None))
        if row is None or (equals and not row.metavar):
            return None
        if not row.metavar:
            fields[name] = True
            continue
        text = value if equals else next(rest, None)
        if text is None or (name == "format" and text not in FORMATS):
            return None
        fields[name] = [*fields.get(name, ()), text] if row.repeatable else text
    return lint_files(files, **fields) if files else None
