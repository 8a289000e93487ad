"""The job ends with the status of a command after the run.

A script ends with the status of its last command. After the run it is that of an `echo` or a
`deactivate`, so that a job that failed counts as COMPLETED, `afterok` jobs start, and nobody is
told.

Evidence: bash(1), EXIT STATUS; sbatch(1): the job's exit code is the script's.

Cure: `set -e` at the top, or `status=$?` after the run and `exit $status` at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.launch import runs, strict
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=1
source env/bin/activate
srun python train.py
deactivate
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=1
set -e
source env/bin/activate
srun python train.py
deactivate
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    text = script.text
    if (
        strict(script)[0]
        or re.search(r"\$\?|PIPESTATUS|\btrap\b|\bexit\b|\|\|", text)
        or not script.live
    ):
        return
    last = next((each for each in script.commands if each.last), None)
    if not last or last.name not in (
        "echo",
        "date",
        "deactivate",
        "printf",
        "conda",
        "rm",
        "module",
    ):
        return
    found = [each for each in runs(script) if each.depth == 0 and "background" not in each.within]
    plain = [each for each in found if not each.within - {"pipeline"} and not each.before]
    if len(found) == 1 and plain and not last.within and last.offset > plain[0].offset:
        text = f"the job ends well even if this fails: the status of `{last.name}` counts"
        yield at(plain[0], text, f"set -e, or keep $? and exit with it after line {last.line}")
