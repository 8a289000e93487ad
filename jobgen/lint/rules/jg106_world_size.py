"""WORLD_SIZE is not the number of ranks that are started."""

from jobgen.lint.launchers import STEP_COUNTS, launchers, starter_option
from jobgen.lint.reader.directives import whole_number
from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
    sruns = [command for command in script.commands if command.name == "srun"]
    has_counts = any(starter_option(srun.words, *STEP_COUNTS) for srun in sruns)
    if not sruns or has_counts or launchers(script):
        return
    tasks, gpus = script.number("ntasks-per-node"), script.gpus_per_node
    assignment, nodes = script.constant("WORLD_SIZE"), script.nodes
    if tasks and gpus and assignment and nodes:
        world_size = whole_number(assignment.value.text)
        # The tasks may start a rank for each GPU.
        if world_size and world_size not in (tasks * nodes, gpus.count * nodes):
            text = f"WORLD_SIZE is {world_size}, but {tasks * nodes} ranks are started"
            yield finding_at(assignment, text, "use WORLD_SIZE=$SLURM_NTASKS")
