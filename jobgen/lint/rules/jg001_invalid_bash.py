"""bash cannot parse the script."""

import re
import shutil
import subprocess
from functools import lru_cache

from jobgen.lint.rules import Finding, Findings, Script

CODE = "JG001"
_ENVIRONMENT = {"LC_ALL": "C"}  # no BASH_ENV, and messages in English


def check(script: Script) -> Findings:
    if not (error := bash_error(script)):
        return
    number, message = error
    before = "\n".join(script.lines[: number - 1])
    if re.search(r"^exit\b", before, re.MULTILINE):
        return  # bash does not come here; another language may follow, such as Julia
    if found := re.search(r"<\w[^<>]*(?<!\s)>", script.lines[number - 1]):
        text = f"bash cannot parse the placeholder {found[0]}: < and > are redirections"
        yield Finding(number, found.start() + 1, text, "replace it by a value")
    else:
        cure = "close the quote, bracket or heredoc that is open before it"
        yield Finding(number, 1, f"bash cannot parse this: {message}", cure)


@lru_cache(8)  # JG208 asks for the same script's
def bash_error(script: Script) -> tuple[int, str] | None:
    """The line at which bash stops, and its message.

    None if bash parses all of the script, or is not installed.
    """
    if not script.parse_error or not (bash := shutil.which("bash")):
        return None
    argv = [bash, "-O", "extglob", "-n"]  # with -n, bash runs no `shopt -s extglob`
    source = script.text.encode("utf-8", "surrogateescape")
    done = subprocess.run(argv, input=source, capture_output=True, env=_ENVIRONMENT, check=False)
    found = re.search(r"line (\d+): (.*)", done.stderr.decode("utf-8", "replace"))
    if not done.returncode or not found:
        return None
    return min(int(found[1]), len(script.lines)), found[2]
