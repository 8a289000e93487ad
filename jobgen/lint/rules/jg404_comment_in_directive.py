"""A PBS directive has a comment after it."""

import re

from jobgen.lint.rules import Edit, Findings, Script, finding_at


def check(script: Script) -> Findings:
    for word in script.stray_words if script.chunk_requests else ():
        if word.scheduler == "pbs" and word.text.startswith("#"):
            text = "qsub takes the comment for words of the directive"
            edits = _moved_up(script.lines[word.line - 1], word.line, word.column)
            yield finding_at(word, text, "put it on a line of its own", edits)


def _moved_up(line: str, number: int, column: int) -> list[Edit]:
    comment, directive = line[column - 1 :], line[: column - 1].rstrip()
    if re.match(r"#+\s*(PBS|SBATCH)\b", comment):
        return []  # by itself, it would be a directive, or look like one
    return [
        Edit(number, 1, number, 1, f"{comment.rstrip()}\n"),
        Edit(number, len(directive) + 1, number, len(line.rstrip()) + 1, ""),
    ]
