"""srun starts several torchruns on a node."""

from jobgen.lint.launchers import STEP_COUNTS, launchers, starter_option
from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
    per_node, tasks = script.directive("ntasks-per-node"), script.number("ntasks")
    count = script.number("ntasks-per-node") or 1
    if tasks and script.nodes:  # then --ntasks-per-node is only the most
        count = min(count, -(-tasks // script.nodes))
    if not per_node or count < 2:
        return
    for launcher in launchers(script):
        name, ranks = launcher.name, launcher.ranks_per_node
        is_started_by_srun = launcher.starter == "srun" and launcher.command.name == "srun"
        if not is_started_by_srun or name == "deepspeed" or (ranks and ranks.count <= 1):
            continue
        place = launcher.word.line, launcher.word.column
        before = [word for word in launcher.command.words if (word.line, word.column) < place]
        if not starter_option(before, *STEP_COUNTS, "--tasks-per-node"):
            text = f"srun starts {count} {name}s on each node (see line {per_node.line})"
            cure = f"use --ntasks-per-node=1: {name} itself starts the ranks"
            yield finding_at(launcher.word, text, cure)
