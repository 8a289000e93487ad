"""No agent becomes the host of the rendezvous.

An agent becomes the host of a c10d rendezvous if the endpoint is its hostname, or an address that
its hostname resolves to. The address of another interface (InfiniBand, Slingshot) is neither: no
agent becomes the host, and all of them wait.

Evidence: torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py and pytorch#73656;
pytorch#144779 recommends the address of ib0.
Tried on two nodes with torch 2.13: the address of hsn0, to which no hostname resolves, hung
until the join timeout; with is_host it worked.

Cure: `--rdzv-conf=is_host=1` on the first node and `is_host=0` on the others, for example
`is_host=$((SLURM_NODEID == 0))` in the part that each node runs. Add `--local-addr` with the node's
own address; without it, the ranks get the hostname as MASTER_ADDR.

Example:
  #SBATCH --nodes=2
- head=$(ip -4 -o addr show hsn0 | awk '{ sub("/.*", "", $4); print $4 }')
- srun --ntasks-per-node=1 torchrun --nnodes=2 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$head:29500 train.py
+ export head=$(ip -4 -o addr show hsn0 | awk '{ sub("/.*", "", $4); print $4 }')
+ srun --ntasks-per-node=1 bash -c 'torchrun --nnodes=2 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$head:29500 --rdzv-conf=is_host=$((SLURM_NODEID == 0)) train.py'
"""

import re

from jobgen.lint.launchers import torchruns
from jobgen.lint.rules import Findings, Script, finding_at

# The address of an interface that is usually not the hostname's.
_ADDRESS = re.compile(r"\b(?:ip|ifconfig)\b.*?\b((?:ib|hsn|bond|ens)\w+)")


def check(script: Script) -> Findings:
    for launcher in torchruns(script):
        endpoint = launcher.options.get("rdzv-endpoint")
        has_host = "is-host" in launcher.options or "is_host" in launcher.value("rdzv-conf")
        is_c10d = launcher.value("rdzv-backend") == "c10d" and launcher.is_multi_node
        if not endpoint or has_host or not is_c10d:
            continue
        for name in endpoint.variables:
            values = (assignment.value.text for assignment in script.assignments_of(name))
            if found := next(filter(None, map(_ADDRESS.search, values)), None):
                text = f"no hostname resolves to the address of {found[1]}"
                text += ": no agent becomes the host"
                cure = "use --rdzv-conf=is_host=1 on the first node, is_host=0 on the others"
                yield finding_at(endpoint, text, cure)
