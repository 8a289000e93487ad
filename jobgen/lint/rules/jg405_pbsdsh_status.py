"""pbsdsh does not tell how its tasks end.

pbsdsh ends with 0 whatever its tasks do, so a training that crashed is a job that ended well.

Evidence: tried on OpenPBS: exit status always 0, a crashed worker's job ended with 0;
pbs_tmrsh, ssh and OpenMPI's mpiexec hand it on.

Cure: pbs_tmrsh, a host at a time in the background and then `wait` for each; or a file that
each node writes its status to, which the script reads.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#PBS -l select=2:ncpus=4
pbsdsh -- bash "$PBS_O_WORKDIR/node.sh"
"""
GOOD = """\
#!/bin/bash
#PBS -l select=2:ncpus=4
mpiexec --ppn 1 bash "$PBS_O_WORKDIR/node.sh"
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    for command in script.commands:
        if command.name == "pbsdsh" and not script.functions and not _watched(script):
            text = "pbsdsh ends with 0 whatever its tasks do: a failed job counts as done"
            yield at(command, text, "pbs_tmrsh hands the status on")


def _watched(script: Script) -> bool:
    """Whether the tasks leave word of how they ended in a file."""
    return any(
        word in script.text for word in ("exit_code", "status", ".rc", "returncode", ".done")
    )
