"""The address of the head is fixed, but the job may be on any nodes.

Slurm chooses the nodes when the job starts. The address of a node that is written into the script
is that of one node of the cluster. If the job does not have that node, every rank waits for a
rank 0 that is not there, until the timeout. If another job is on that node, the
ranks may connect to that job by mistake.

Evidence: sbatch(1): only --nodelist names the nodes. seba-1511/dist_tuto.pth#1: the address in the
program was that of another machine than the job's.

Cure: `export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)`; or
`--nodelist` with that node.

Example:
  #SBATCH --nodes=2
  #SBATCH --ntasks-per-node=4
+ #SBATCH --nodelist=node[17-18]
  export MASTER_ADDR=10.1.0.17 MASTER_PORT=29500
  srun python train.py
"""

import re

from jobgen.lint.launchers import launchers
from jobgen.lint.rules import Findings, Script, finding_at

# An address, or a name that ends in a number: others may be placeholders.
_ADDRESS = re.compile(r"(?!127\.|0\.0\.0\.0)\d+(?:\.\d+){3}|[A-Za-z][\w-]*\d(?:\.[\w.-]+)?")


def check(script: Script) -> Findings:
    if script.scheduler != "slurm" or (script.nodes or 1) < 2 or script.directive("nodelist"):
        return
    assignment = script.constant("MASTER_ADDR")
    words = [assignment.value] if assignment and "MASTER_ADDR" in script.exports else []
    for launcher in launchers(script) if not script.runs_itself else ():
        for option in ("rdzv-endpoint", "master-addr"):
            if launcher.is_multi_node and option in launcher.options:
                words.append(launcher.options[option])
    for word in words:
        address = word.text.rpartition(":")[0] or word.text
        if word.is_literal and _ADDRESS.fullmatch(address):
            text = f"{address} is a fixed node, but the job may be on any nodes"
            cure = "use the first node of the job: MASTER_ADDR=$(hostname) in the batch script"
            yield finding_at(word, text, cure)
