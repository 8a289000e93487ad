"""On each node, the rendezvous endpoint is that node itself.

What the shell on a node expands, such as $(hostname) or $SLURMD_NODENAME, is that node's own name.
Every agent waits at its own address for the others, until the join timeout. In `srun torchrun
--rdzv-endpoint=$(hostname):29500`, the batch script's shell expands it, on the first node, and that
works. In `srun bash -c '…'` it does not work.

Evidence: tried with Slurm 22.05: `srun bash -c 'echo $(hostname) $SLURMD_NODENAME'` prints another
name on each node, while $HOSTNAME is the first node's on all: Slurm exports it, and bash keeps it.
The rendezvous is where the endpoint says (torch,
elastic/rendezvous/c10d_rendezvous_backend.py).

Cure: let the batch script's shell expand the first node's name: `export HEAD=$(hostname)` before
srun, and `--rdzv-endpoint=$HEAD:29500`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from jobgen.lint.launchers import (
    Launcher,
    launchers,
    selects_nodes,
)
from jobgen.lint.reader.commands import Word
from jobgen.lint.reader.script import Script
from jobgen.lint.rules import Finding, finding_at
from jobgen.profiles.model import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=2
srun --ntasks-per-node=1 bash -c 'torchrun --nnodes=2 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$(hostname):29500 train.py'
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
export HEAD=$(hostname)
srun --ntasks-per-node=1 bash -c 'torchrun --nnodes=2 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py'
srun torchrun --nnodes=2 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$(hostname):29501 train.py
srun --ntasks-per-node=1 bash -c 'torchrun --nnodes=2 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$HOSTNAME:29502 train.py'
"""

_NODE_NAME = re.compile(r"\$\{?SLURMD_NODENAME\b\}?|(\$\(|`)\s*(hostname|uname -n)[^)`]*[)`]")
_STARTERS_ON_ALL_NODES = ("srun", "mpiexec", "mpirun", "pbsdsh", "pdsh", "clush")


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    for launcher in launchers(script) if script.nodes != 1 else ():
        if not _runs_on_all_nodes(launcher) or selects_nodes(_outer_words(script, launcher)):
            continue
        for option in ("rdzv-endpoint", "master-addr"):
            word = launcher.options.get(option)
            if word and (name := _NODE_NAME.search(word.raw)):
                port = re.search(r":\d+$", word.text)
                endpoint = "$HEAD" + (port[0] if port else "")
                text = f"`{name[0]}` is each node's own name here: the nodes never meet"
                cure = "export HEAD=$(hostname) before this command, and use "
                cure += f"{launcher.option_name(option)}={endpoint}"
                yield finding_at(word, text, cure)


def _runs_on_all_nodes(launcher: Launcher) -> bool:
    """Whether it is in a string that all nodes run, and in no branch of it."""
    command = launcher.command
    is_branch = command.enclosing & {"if_statement", "case_statement"}
    is_started = command.depth > 0 and command.starter in _STARTERS_ON_ALL_NODES
    return is_started and not is_branch and launcher.is_multi_node


def _outer_words(script: Script, launcher: Launcher) -> Sequence[Word]:
    """The words of the command that has the launcher in a string."""
    offset = launcher.command.offset
    before = [each for each in script.commands if not each.depth and each.offset <= offset]
    return max(before, key=lambda command: command.offset).words if before else ()
