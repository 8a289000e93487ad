"""Findings as text, JSON, SARIF or annotations of GitHub."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from jobgen import __version__
from jobgen.errors import Problem, printable
from jobgen.lint.rules import rules


def text(found: Sequence[Problem]) -> str:
    """`file:line:col: message; cure [CODE]`, one a line."""
    return "".join(f"{each}\n" for each in found)


def as_json(found: Sequence[Problem]) -> str:
    """A list with an object for each finding."""
    rows = [
        {
            "file": _shown(each.mark.file),
            "line": each.mark.line,
            "column": each.mark.column,
            "code": each.code,
            "message": _shown(each.text),
            "cure": _shown(each.hint),
        }
        for each in found
    ]
    return json.dumps(rows, indent=2) + "\n"


def sarif(found: Sequence[Problem]) -> str:
    """SARIF 2.1.0, which code hosts take as the result of an analysis."""
    codes = sorted({each.code for each in found})
    results = [
        {
            "ruleId": each.code,
            "ruleIndex": codes.index(each.code),
            "level": "warning",
            "message": {"text": _shown(f"{each.text}; {each.hint}")},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": _uri(each.mark.file)},
                        "region": {"startLine": each.mark.line, "startColumn": each.mark.column},
                    }
                }
            ],
        }
        for each in found
    ]
    told = [
        {
            "id": code,
            "shortDescription": {"text": rules()[code].title},
            "fullDescription": {"text": rules()[code].page},
        }
        for code in codes
    ]
    driver = {"name": "jobgen", "version": __version__, "rules": told}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def github(found: Sequence[Problem]) -> str:
    """Workflow commands, which GitHub shows beside the lines of a change."""
    lines = []
    for each in found:
        place = f"file={_property(each.mark.file)},line={each.mark.line},col={each.mark.column}"
        message = _data(f"{each.text}; {each.hint}")
        lines.append(f"::warning {place},title={_property(each.code)}::{message}\n")
    return "".join(lines)


FORMATS: dict[str, Callable[[Sequence[Problem]], str]] = {
    "text": text,
    "json": as_json,
    "sarif": sarif,
    "github": github,
}


def _shown(said: str) -> str:
    return said.encode("utf-8", "backslashreplace").decode("utf-8")


def _uri(path: str) -> str:
    from urllib.parse import quote

    return quote(path.encode("utf-8", "surrogateescape"))


def _data(said: str) -> str:
    return printable(said).replace("%", "%25")


def _property(said: str) -> str:
    return _data(said).replace(":", "%3A").replace(",", "%2C")
