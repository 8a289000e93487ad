"""An ignore comment is not valid, or suppresses nothing.

`# jobgen: ignore=JG601 reason` at the end of a line turns the named rules off for that line. On a
line of its own, it turns them off for the next line. It needs codes in capitals, with commas and no
blanks between them, and a reason for those who read it later. A comment that suppresses nothing is
out of date, or on the wrong line. A comment for a rule that is not searched for (`--select`, no
`--profile`) is not checked, nor is a script that is read only in part.

Cure: use codes that `jobgen rules` lists, and give a reason in a few words. Remove a comment that
is not needed.

Example:
  #SBATCH --nodes=2
- head=$(hostname -I | awk '{print $1}')  # jobgen: ignore=JG108
+ # jobgen: ignore=JG108 these nodes have one network
+ head=$(hostname -I | awk '{print $1}')
"""

import re
from collections.abc import Set

from jobgen.lint.ignore_comments import ignore_comments
from jobgen.lint.rules import Findings, Script, codes, finding_at

CODE = "JG002"


def check(script: Script) -> Findings:
    all_codes = codes()
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
