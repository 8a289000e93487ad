"""The address of a node is asked for over ssh.

Many clusters have no ssh between compute nodes, or ask for a host key there: the job hangs, or
goes on with an empty address. The script runs on the first node already, and needs no ssh to
know its address.

Evidence: sbatch(1) and qsub(1B): the script runs on the first host of the job.

Cure: ask on the node itself, where the script runs; on others by srun or pbs_tmrsh.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

# Where a site has ssh between its nodes, it works.
OPTIONAL = True
BAD = """\
#!/bin/bash
#PBS -l select=2:ncpus=4
head=$(head -n 1 "$PBS_NODEFILE")
ip=$(ssh "$head" "hostname -i")
"""
GOOD = """\
#!/bin/bash
#PBS -l select=2:ncpus=4
ip=$(hostname -i)
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    for command in script.commands:
        if command.name == "ssh" and "command_substitution" in command.within and script.scheduler:
            said = " ".join(word.text for word in command.words[2:])
            if re.search(r"\bhostname\b|\bip\b.*addr|ifconfig", said):
                text = "the address of a node comes over ssh, which may not be there"
                yield at(command, text, "the script runs on the first node: ask there, without ssh")
