"""A line looks like a directive, and is none."""

import re

from jobgen.lint.reader.directives import is_code, read_directives
from jobgen.lint.rules import Edit, Findings, Script, Word, finding_at
from jobgen.lint.rules.jg201_late_directive import can_be_added

WIDEST_INDENT = 16  # more blanks make columns of a table, in a document


def check(script: Script) -> Findings:
    if not script.directives:
        return
    for comment in script.comments:
        before = script.lines[comment.line - 1][: comment.column - 1]
        word = re.match(r"#([A-Z]{5,8})\s+-", comment.text)
        if word and word[1] != "SBATCH" and sorted(word[1]) == sorted("SBATCH"):
            text = f"#{word[1]} is not a directive"
            edits = _written_right(script, comment, len(word[1]) + 1)
            yield finding_at(comment, text, "write #SBATCH", edits)
        is_indented = before.isspace() and len(before) <= WIDEST_INDENT
        if is_indented and re.match(r"#SBATCH\s+-", comment.text):
            text = "sbatch reads #SBATCH only in the first column"
            edits = _written_right(script, comment, len("#SBATCH"))
            yield finding_at(comment, text, "remove the blanks before it", edits)


def _written_right(script: Script, comment: Word, length: int) -> list[Edit]:
    """The edit that makes a comment a directive; `length` is that of its first word."""
    if any(map(is_code, script.lines[: comment.line - 1])):
        return []  # it comes too late
    directives, stray_words = read_directives(["#SBATCH" + comment.text[length:]], 2)
    if stray_words or not directives or not can_be_added(script, directives, ()):
        return []
    return [Edit(comment.line, 1, comment.line, comment.column + length, "#SBATCH")]
