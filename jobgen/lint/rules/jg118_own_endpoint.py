"""Each node is told to meet at itself.

What the shell on a node expands, such as $(hostname) or $SLURMD_NODENAME, is that node's own name
there: every agent waits at its own address for the others, until the join timeout. In `srun torchrun
--rdzv-endpoint=$(hostname):29500` the batch script's shell expands it, on the first node, which works;
in `srun bash -c '…'` it does not.

Evidence: tried with Slurm 22.05: `srun bash -c 'echo $(hostname) $SLURMD_NODENAME'` prints another name
on each node, while $HOSTNAME is the first node's on all: Slurm exports it, and bash keeps it. The
rendezvous is where the endpoint says (torch, elastic/rendezvous/c10d_rendezvous_backend.py).

Cure: the first node's name, by the batch script's shell: `export HEAD=$(hostname)` before srun, and
`--rdzv-endpoint=$HEAD:29500`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.launch import Launcher, launchers, srun_option
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

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

_OWN = re.compile(r"\$\{?SLURMD_NODENAME\b\}?|(\$\(|`)\s*(hostname|uname -n)[^)`]*[)`]")
_ON_ALL = ("srun", "mpiexec", "mpirun", "pbsdsh", "pdsh", "clush")


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    if script.nodes == 1:
        return
    for run in launchers(script):
        command = run.command
        here = command.within & {"if_statement", "case_statement"}
        if not command.depth or command.starter not in _ON_ALL or here or not run.several:
            continue
        for name in ("rdzv-endpoint", "master-addr"):
            word = run.options.get(name)
            if word and (own := _OWN.search(word.raw)) and not _on_one(script, run):
                head = "$HEAD" + (port[0] if (port := re.search(r":\d+$", word.text)) else "")
                text = f"`{own[0]}` is each node's own name here: no node meets another"
                option = run.spelled(name)
                yield at(word, text, f"export HEAD=$(hostname) before it, and {option}={head}")


def _on_one(script: Script, run: Launcher) -> bool:
    """Whether it is started on one node, that is named."""
    outer = [each for each in script.commands
             if not each.depth and each.offset <= run.command.offset]  # fmt: skip
    words = list(max(outer, key=lambda each: each.offset).words) if outer else []
    counts = [srun_option(words, *names) for names in (("-N", "--nodes"), ("-n", "--ntasks"))]
    named = srun_option(words, "-w", "--nodelist", "-r", "--relative")
    return bool(named) or any(count and count.text == "1" for count in counts)
