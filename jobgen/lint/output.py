"""The formats of the findings: text, JSON, SARIF, and annotations of GitHub."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from jobgen import __version__
from jobgen.errors import Edit, Problem, printable


def text(findings: Sequence[Problem]) -> str:
    """The findings as text, one on each line: `file:line:col: message; cure [CODE]`."""
    return "".join(f"{finding}\n" for finding in findings)


def as_json(findings: Sequence[Problem]) -> str:
    """The findings as JSON: a list with an object for each finding."""
    rows = [
        {
            "file": _encodable(finding.mark.file),
            "line": finding.mark.line,
            "column": finding.mark.column,
            "end_line": finding.end[0],
            "end_column": finding.end[1],
            "code": finding.code,
            "message": _encodable(finding.text),
            "cure": _encodable(finding.hint),
            "edits": [
                {**edit._asdict(), "text": _encodable(edit.text)} for edit in _edits(finding)
            ],
        }
        for finding in findings
    ]
    return _dumped(rows)


def sarif(findings: Sequence[Problem]) -> str:
    """The findings as SARIF 2.1.0, which code hosts read as the result of an analysis."""
    from jobgen.lint.rules import rules  # only SARIF needs the pages of rules

    codes = sorted({finding.code for finding in findings})
    descriptions = [
        {
            "id": code,
            "shortDescription": {"text": rules()[code].title},
            "fullDescription": {"text": rules()[code].page},
        }
        for code in codes
    ]
    driver = {"name": "jobgen", "version": __version__, "rules": descriptions}
    results = [_sarif_result(finding, codes.index(finding.code)) for finding in findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return _dumped({"$schema": schema, "version": "2.1.0", "runs": [run]})


def _sarif_result(finding: Problem, rule_index: int) -> dict[str, Any]:
    from urllib.parse import quote

    file, *place = finding.mark
    location = {
        "artifactLocation": {"uri": quote(file.encode("utf-8", "surrogateescape"))},
        "region": _region(*place, *finding.end),
    }
    result = {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "level": "warning",
        "message": {"text": _encodable(f"{finding.text}; {finding.hint}")},
        "locations": [{"physicalLocation": location}],
    }
    replacements = [
        {"deletedRegion": _region(*edit[:4]), "insertedContent": {"text": _encodable(edit.text)}}
        for edit in _edits(finding)
    ]
    if replacements:
        change = {"artifactLocation": location["artifactLocation"], "replacements": replacements}
        description = {"text": _encodable(finding.hint)}
        result["fixes"] = [{"description": description, "artifactChanges": [change]}]
    return result


def _region(*place: int) -> dict[str, int]:
    return dict(zip(("startLine", "startColumn", "endLine", "endColumn"), place, strict=True))


def _edits(finding: Problem) -> tuple[Edit, ...]:
    """The edits of a finding; none on a byte order mark, which editors do not count as text."""
    return finding.edits if all(edit.column for edit in finding.edits) else ()


def github(findings: Sequence[Problem]) -> str:
    """The findings as workflow commands, which GitHub shows beside the lines of a change."""

    def escaped(text: str) -> str:
        return printable(text).replace("%", "%25")

    lines = []
    for finding in findings:
        file, line, column = finding.mark
        name = escaped(file).replace(":", "%3A").replace(",", "%2C")
        message = escaped(f"{finding.text}; {finding.hint}")
        place = f"file={name},line={line},col={column},title={finding.code}"
        lines.append(f"::warning {place}::{message}\n")
    return "".join(lines)


FORMATS: dict[str, Callable[[Sequence[Problem]], str]] = {
    "text": text,
    "json": as_json,
    "sarif": sarif,
    "github": github,
}


def _dumped(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"


def _encodable(value: str) -> str:
    return value.encode("utf-8", "backslashreplace").decode("utf-8")
