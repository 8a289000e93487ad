"""A placeholder was not replaced."""

import re
from collections.abc import Iterator

from jobgen.lint.rules import Finding, Findings, Script
from jobgen.lint.rules.jg001_invalid_bash import bash_error

_ASKS_FOR_VALUE = re.compile(
    r"(?i)your|user|name|path|account|project|dir|insert|put|replace|email|address|id\b"
)
# In a message or a pattern, < and > may be right.
_MESSAGE = re.compile(r"(?i)\b(echo|printf|sed|awk|grep|perl|usage|error)\b")


def check(script: Script) -> Findings:
    if script.is_in_document:  # its reader replaces them
        return
    error = bash_error(script)
    for number, line in enumerate(script.lines, 1):
        if "<" not in line or number in script.quoted_lines:
            continue
        if re.match("#(SBATCH|PBS) ", line):
            found = re.finditer("<+[^<>@]+>+", re.split(r"\s#", line)[0])
        elif script.is_other_language or (error and error[0] == number):  # JG001 reports it
            continue
        else:
            found = _in_command(line)
        for each in found:
            text = f"the placeholder {each[0]} was not replaced"
            yield Finding(number, each.start() + 1, text, "replace it by a value")


def _in_command(line: str) -> Iterator[re.Match[str]]:
    if _MESSAGE.search(line) or line.lstrip().startswith("#"):
        return
    code = line[:1] + re.split(r"\s#", line[1:])[0]  # without a comment
    code = re.sub(r"\$\{\w+:?\?[^}]*", lambda message: " " * len(message[0]), code)
    code = re.sub(r'[\[,:] ?"<', lambda start: " " * len(start[0]), code)  # JSON: text of a model
    for found in re.finditer(r"(?<![<$(@])<([A-Za-z][\w /-]*)>(?![>(])", code):
        if _ASKS_FOR_VALUE.search(found[1]):
            yield found
