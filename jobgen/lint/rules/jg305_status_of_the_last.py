"""The job ends with the status of a command after the run.

A script ends with the status of its last command. After the run it is that of an `echo`, a
`deactivate` or an `exit 0`, so that a job that failed counts as COMPLETED, `afterok` jobs start, and
nobody is told.

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


# What says nothing of the run.
_ASIDE = frozenset(
    """
    echo date deactivate printf conda rm module ml set unset cd popd sacct sstat seff squeue dcgmi
    nvidia-smi rocm-smi sleep
    """.split()
)


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    if re.search(r"\$\?|PIPESTATUS|\btrap\b|\|\|", script.text) or not script.live:
        return
    last = next((each for each in script.commands if each.last), None)
    exits = [each for each in script.commands if each.name == "exit"]
    well = bool(last and exits == [last] and [word.text for word in last.words] == ["exit", "0"])
    if not last or not (well or (not exits and last.name in _ASIDE)):
        return
    found = [each for each in runs(script) if each.depth == 0 and "background" not in each.within]
    plain = [each for each in found if not each.within - {"pipeline"} and not each.before]
    if len(found) != 1 or not plain or last.within or last.offset < plain[0].offset:
        return
    if not strict(script, plain[0])[0]:
        name = "exit 0" if well else last.name
        text = f"the job ends well even if this fails: the status of `{name}` counts"
        cure = "take it away" if well else f"keep $? and exit with it after line {last.line}"
        yield at(plain[0], text, f"set -e, or {cure}")
