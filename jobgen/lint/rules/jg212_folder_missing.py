"""The folder of the output is not there.

Slurm opens the output's file before the script runs. If its folder is not there, the job fails
at once, and there is no output that says why; PBS runs the job, and its output stays on the node,
where nobody finds it. Looked for only where it is selected, on the cluster: elsewhere a folder that
git does not keep is missing though nothing is wrong. Said where a relative folder is neither beside
the script nor in a folder above it, nor in the current one.

Evidence: tried with Slurm 22.05: `--output=nope/%j.out`, and `--error` as well, end with JobState=FAILED
Reason=JobLaunchFailure and no file; OpenPBS: the output silently stays in the mom's undelivered/.

Cure: `mkdir -p logs` before you submit. Git keeps no empty folder: commit logs/.gitkeep with the
script, or write the output beside the script.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from jobgen.lint.directives import Directive
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

# What is there is known only where one submits.
OPTIONAL = True
BAD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --output=no-such-folder/%j.out
srun hostname
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --output=%x-%j.out
srun hostname
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    if script.file == "-" or script.option("chdir"):
        return
    names = ("output", "error") if script.scheduler == "slurm" else ("o", "e")
    for told in (script.option(name) for name in names):
        if not told or not (folder := _folder(told)):
            continue
        # One that the job makes: PBS brings the output at its end; for Slurm JG210 says so.
        made = any(folder in word.text for run in script.commands for word in run.words
                   if run.name in ("mkdir", "install"))  # fmt: skip
        if not made and not any(map(os.path.isdir, _places(script.file, folder))):
            fails = "the job fails without a word" if told.scheduler == "slurm" else "it is lost"
            text = f"the output goes to {folder}, which is not there: {fails}"
            yield at(told, text, "make it before you submit")


def _folder(told: Directive) -> str:
    """The folder of an output's file if it is relative and plain, else ""."""
    folder = told.value.rpartition("/")[0].removeprefix("./")
    return "" if folder.startswith(("/", "~", "..")) or set(folder) & set("%$^:<{") else folder


def _places(file: str, folder: str) -> Iterator[str]:
    """Where the folder may be: below where one may submit from."""
    yield folder
    above = os.path.dirname(os.path.abspath(file))
    while True:
        yield os.path.join(above, folder)
        if above == os.path.dirname(above) or os.path.exists(os.path.join(above, ".git")):
            return
        above = os.path.dirname(above)
