"""The job fetches its own code.

What `git pull` brings is what the branch is when the job starts, not when it was submitted: two
jobs of one sweep run different code, and a job that is queued again goes on with other code
than it began with. In a folder that several jobs share, they pull into each other.

Evidence: git-pull(1); a requeued job starts its script again (sbatch(1), --requeue).

Cure: fetch before submitting, or one commit into a folder of its own; jobgen's `workspace` does
that.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.launch import runs
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=1
cd repo && git pull
srun python train.py
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=1
cd repo
srun python train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    for command in script.commands if runs(script) else ():
        if (
            command.name == "git"
            and "pull" in [word.text for word in command.words[1:4]]
            and script.live
        ):
            text = "the code is what the branch is when the job starts, not when it was submitted"
            yield at(command, text, "fetch it before you submit, at one commit")
