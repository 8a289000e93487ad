"""A launcher starts more ranks on a node than the job has GPUs there."""

from jobgen.lint.launchers import launchers
from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
    gpus = script.gpus_per_node
    if not gpus or gpus.count == 0 or script.directive("exclusive"):
        return
    for launcher in launchers(script):
        ranks = launcher.ranks_per_node
        if ranks and ranks.count > gpus.count:
            text = f"{ranks.count} ranks per node, but line {gpus.line} requests {gpus.count} GPUs"
            yield finding_at(ranks.word, text, "request as many GPUs, or start fewer ranks")
