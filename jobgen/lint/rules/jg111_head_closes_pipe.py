"""`scontrol show hostnames | head` ends a script with `set -eo pipefail`.

`head` ends when it has its line. If the list is long, scontrol then gets SIGPIPE. `set -o pipefail`
makes the pipe's status 141, and `set -e` ends the job without a message. In `export NAME=$(…)` and
in `local`, bash discards the status of the pipe: there it does no harm.

Evidence: tried with Slurm 22.05: 141 in 81 of 100 runs with 1,000 hosts, in none with 100. scontrol
writes 4,096 bytes at a time, the names of some 400 nodes: what fits in one write is never refused.

Cure: `mapfile -t hosts < <(scontrol show hostnames "$SLURM_JOB_NODELIST")`, then ${hosts[0]}.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.reader.script import Script
from jobgen.lint.rules import Finding, finding_at
from jobgen.profiles.model import Profile

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

MOST_NODES = 400  # whose names scontrol writes at once
# A pipe by itself, or in a plain assignment: bash ignores the status of others.
_STATUS_COUNTS = re.compile(r"(?:^|;)\s*(?:\w+=\(?\s*\"?(?:\$\(|`)\s*)?$")


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    if (script.nodes or 1) <= MOST_NODES:
        return
    for command in script.commands:
        words = " ".join(word.text for word in command.words)
        if not words.startswith("scontrol show hostname") or command.piped_into != "head":
            continue
        before = script.lines[command.line - 1][: command.column - 1]
        if _STATUS_COUNTS.search(before) and all(script.shell_options(command)):
            text = "with many nodes, head closes the pipe, and `set -eo pipefail` ends the job"
            yield finding_at(command, text, "use mapfile -t hosts < <(scontrol show hostnames …)")
