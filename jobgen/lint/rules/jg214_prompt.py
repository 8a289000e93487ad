"""A prompt was copied with a command."""

import re

from jobgen.lint.rules import Finding, Findings, Script

_PROMPT = re.compile(r"\s*(\[?[\w.-]+@[\w.-]+[: ][~\w./-]*\]?[$#]|\$)\s+[a-z./]")


def check(script: Script) -> Findings:
    # What is not parsed may be inside a heredoc.
    may_be_heredoc = script.parse_error and "<<" in script.text
    if script.is_other_language or may_be_heredoc:
        return
    for number, line in enumerate(script.lines, 1):
        prompt = _PROMPT.match(line)
        if prompt and number not in script.quoted_lines:
            text = f"`{prompt[1]}` is a prompt: bash takes it for a command"
            yield Finding(number, prompt.start(1) + 1, text, "remove it")
