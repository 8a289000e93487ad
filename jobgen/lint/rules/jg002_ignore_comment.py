"""An ignore comment is not valid, or suppresses nothing."""

import re
from collections.abc import Set

from jobgen.lint.ignore_comments import ignore_comments
from jobgen.lint.rules import Findings, Script, checks, finding_at

CODE = "JG002"


def check(script: Script) -> Findings:
    all_codes = checks()
    for comment in ignore_comments(script):
        if unknown := [code for code in comment.codes if code not in all_codes]:
            yield finding_at(comment, f"there is no rule {unknown[0]:.20}", "see `jobgen rules`")
        elif not comment.reason:
            written = comment.codes or re.findall(r"JG[0-9]{3}", comment.text.upper())
            reason = "it has no reason" if comment.codes else "it names no rule"
            if written and not comment.codes:
                reason = "write codes in capitals, with commas and no blanks between them"
            cure = f"# jobgen: ignore={','.join(written or ['CODE'])} reason"
            yield finding_at(comment, f"the ignore comment is not valid: {reason}", cure)


def unused(script: Script, searched: Set[str], places: Set[tuple[int, str]]) -> Findings:
    """The ignore comments that suppress nothing of the rules that were `searched` for.

    `places` has the lines and codes of all findings.
    """
    for comment in ignore_comments(script):
        line = comment.ignored_line
        idle = [code for code in comment.codes if code in searched and (line, code) not in places]
        if comment.reason and idle:
            text = f"the ignore comment suppresses nothing: line {line} has no {', '.join(idle)}"
            yield finding_at(comment, text, "remove it, or put it on the line of the finding")
