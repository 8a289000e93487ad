"""The lines end with carriage returns, as on Windows."""

from jobgen.lint.rules import Finding, Findings, Script, replacement


def check(script: Script) -> Findings:
    edits = tuple(
        replacement(number, len(line), "\r", "")
        for number, line in enumerate(script.lines, 1)
        if line.endswith("\r")
    )
    if edits:
        line, column, *_ = edits[0]
        text = "the line ends with a carriage return"
        yield Finding(line, column, text, "run dos2unix on the file", "\r", edits)
