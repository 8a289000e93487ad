"""On each node, the rendezvous endpoint is that node itself.

What the shell on a node expands, such as $(hostname) or $SLURMD_NODENAME, is that node's own name.
`localhost` is that node, too. Every agent waits at its own address for the others, until the join
timeout. In `srun torchrun --rdzv-endpoint=$(hostname):29500`, the batch script's shell expands it,
on the first node, and that works. In `srun bash -c '…'` it does not work.

Evidence: tried with Slurm 22.05: `srun bash -c 'echo $(hostname) $SLURMD_NODENAME'` prints another
name on each node, while $HOSTNAME is the first node's on all: Slurm exports it, and bash keeps it.
The rendezvous is where the endpoint says (torch,
elastic/rendezvous/c10d_rendezvous_backend.py). Seen in pytorch#76069: localhost on four nodes.

Cure: let the batch script's shell expand the first node's name: `export HEAD=$(hostname)` before
srun, and `--rdzv-endpoint=$HEAD:29500`.

Example:
  #SBATCH --nodes=2
- srun --ntasks-per-node=1 bash -c 'torchrun --nnodes=2 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$(hostname):29500 train.py'
+ export HEAD=$(hostname)
+ srun --ntasks-per-node=1 bash -c 'torchrun --nnodes=2 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py'
+ srun torchrun --nnodes=2 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$(hostname):29501 train.py
+ srun --ntasks-per-node=1 bash -c 'torchrun --nnodes=2 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$HOSTNAME:29502 train.py'
"""

import re

from jobgen.lint.launchers import LOOPBACK, launchers, runs_on_all_nodes
from jobgen.lint.rules import Findings, Script, finding_at

_OWN_NAME = re.compile(r"\$\{?SLURMD_NODENAME\b\}?|(?:\$\(|`)\s*(?:hostname|uname -n)[^)`]*[)`]")


def check(script: Script) -> Findings:
    for launcher in launchers(script) if script.nodes != 1 else ():
        if not launcher.is_multi_node or not runs_on_all_nodes(script, launcher.command):
            continue
        for option in launcher.options.keys() & {"rdzv-endpoint", "master-addr"}:
            word = launcher.options[option]
            expanded_there = word.raw if launcher.command.depth else ""
            loopback = LOOPBACK.match(word.text if word.is_literal else "")
            if found := loopback or _OWN_NAME.search(expanded_there):
                port = re.search(r":\d+$", word.text)
                endpoint = "$HEAD" + (port[0] if port else "")
                text = f"`{found[0]}` is each node's own name here: the nodes never meet"
                cure = "export HEAD=$(hostname) before this command, and use "
                cure += f"{launcher.option_name(option)}={endpoint}"
                yield finding_at(word, text, cure)
