"""Fewer ranks are started than GPUs are requested."""

from collections import Counter

from jobgen.lint.launchers import launchers, work_commands
from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
    gpus, found = script.gpus_per_node, launchers(script)
    if not gpus or len(found) != 1 or "CUDA_VISIBLE" in script.text:
        return
    # The other GPUs may be for other commands, or for other rounds of a loop. What a string starts
    # is counted at its depth: its srun is at depth 0.
    at_depth = Counter(command.depth for command in work_commands(script))
    ranks, command = found[0].ranks_per_node, found[0].command
    if max(at_depth.values()) > 1 or command.enclosing - {"pipeline"} or command.depth > 1:
        return
    if ranks and ranks.count < gpus.count:
        text = f"{ranks.count} ranks per node, but line {gpus.line} requests {gpus.count} GPUs"
        yield finding_at(ranks.word, text, "start a rank for each GPU, or request fewer GPUs")
