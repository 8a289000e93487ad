"""Nothing starts the program on the other nodes."""

import re

from jobgen.lint.launchers import launchers, starts_elsewhere, work_commands
from jobgen.lint.rules import Findings, Script, finding_at

# The program itself may start the other ranks.
OPTIONAL = True

_STARTS_ITSELF = re.compile(r"(?i)\bray\b|dask|submitit|mpi|PBS_NODEFILE|NODELIST|hostfile")


def check(script: Script) -> Findings:
    nodes = script.nodes or 1
    if nodes < 2 or launchers(script) or starts_elsewhere(script):
        return
    runs = [command for command in work_commands(script) if command.name.startswith("python")]
    if len(runs) == 1 and runs[0].depth == 0 and not _STARTS_ITSELF.search(script.code):
        text = f"python runs on the first of the {nodes} nodes only"
        yield finding_at(runs[0], text, "start it with srun, or request one node")
