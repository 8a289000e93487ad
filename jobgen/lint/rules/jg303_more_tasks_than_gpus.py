"""srun starts more ranks on a node than the job has GPUs there."""

from jobgen.lint.launchers import STEP_COUNTS, launchers, starter_option, work_commands
from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
    tasks, gpus = script.directive("ntasks-per-node"), script.gpus_per_node
    ranks = script.number("ntasks-per-node")
    has_rank_per_task = "MASTER_ADDR" in script.exports and not launchers(script)
    if not (tasks and gpus and ranks and has_rank_per_task and ranks > gpus.count > 0):
        return
    for command in work_commands(script):
        if command.name == "srun" and not starter_option(command.words, *STEP_COUNTS):
            text = f"{ranks} ranks per node, but line {gpus.line} requests {gpus.count} GPUs"
            yield finding_at(tasks, text, "start one task for each GPU")
            return
