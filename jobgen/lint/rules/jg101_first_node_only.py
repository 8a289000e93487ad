"""torchrun for several nodes runs on the first node only."""

from jobgen.lint.launchers import launchers, outer_command, starts_elsewhere
from jobgen.lint.rules import Findings, Script, finding_at

_CURES = {
    "slurm": "start it on each node: `srun --ntasks-per-node=1 {} …`",
    "pbs": "start it on each host of $PBS_NODEFILE, with pbs_tmrsh or mpiexec --ppn 1",
    "": "start it on every node",
}


def check(script: Script) -> Findings:
    nodes, found = script.nodes or 1, launchers(script)
    starts_others = any(
        launcher.starter and "background" in outer_command(script, launcher.command).enclosing
        for launcher in found
    )
    if nodes < 2 or script.functions or script.runs_itself or starts_others:
        return
    for launcher in found:
        if (name := launcher.name) == "deepspeed" or launcher.starter:
            continue  # deepspeed starts the other nodes itself
        has_no_nodes = launcher.has_all_options and "config-file" not in launcher.options
        if launcher.is_multi_node and launcher.command.piped_into != "?":
            text = f"{name} for {nodes} nodes runs on the first node only"
            text += ": the other agents never join"
        elif has_no_nodes and not launcher.is_multi_node and not starts_elsewhere(script):
            text = f"{name} uses the first of the {nodes} nodes: the others do nothing"
        else:
            continue
        yield finding_at(launcher.word, text, _CURES[script.scheduler].format(name))
