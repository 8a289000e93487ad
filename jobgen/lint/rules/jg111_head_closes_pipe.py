"""`scontrol show hostnames | head` ends a script that is strict with pipes.

`head` goes when it has its line. Where the list is long, scontrol then gets SIGPIPE, `set -o
pipefail` makes the pipe's status 141, and `set -e` ends the job without a word. In `export
NAME=$(…)` and in `local` the status of the pipe is thrown away: there it does no harm.

Evidence: tried with Slurm 22.05: 141 in 81 of 100 runs with 1,000 hosts, in none with 100. scontrol
writes 4,096 bytes at a time, the names of some 400 nodes: what fits in one write is never refused.

Cure: `mapfile -t hosts < <(scontrol show hostnames "$SLURM_JOB_NODELIST")`, then ${hosts[0]}.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.launch import strict
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=512
set -euo pipefail
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun --ntasks-per-node=1 ./node.sh "$head"
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=512
set -euo pipefail
mapfile -t hosts < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
srun --ntasks-per-node=1 ./node.sh "${hosts[0]}"
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    if (script.nodes or 1) <= 400:
        return
    for command in script.commands:
        lists = re.match(r"scontrol show hostname", " ".join(word.text for word in command.words))
        before = script.lines[command.line - 1][: command.column - 1]
        # A pipe by itself, or in a plain assignment: of others the status is not looked at.
        counts = re.search(r"(?:^|;)\s*(?:\w+=\(?\s*\"?(?:\$\(|`)\s*)?$", before)
        if lists and counts and command.before == "head" and all(strict(script, command)):
            text = "with many nodes, head closes the pipe and `set -eo pipefail` ends the job"
            yield at(command, text, "mapfile -t hosts < <(scontrol show hostnames …)")
