"""Each task of several sees one GPU only.

With `--gpus-per-task=1`, each task sees its own GPU only, and that as number 0. A program that
takes the GPU with the number of its local rank fails with "invalid device ordinal" in all tasks but
the first, and NCCL cannot use the paths to GPUs that it does not see. Programs that take GPU 0 in
each task need it; so lint searches for this only where the rule is selected.

Evidence: srun(1), --gpus-per-task, which implies --gpu-bind=per_task. Seen in ACEsuit/mace#435,
mila-iqia/mila-docs#245 and NVIDIA/nccl#1948.

Cure: `--gres=gpu:N` or `--gpus-per-node=N`, with as many tasks per node.

Example:
- #SBATCH --ntasks=8
- #SBATCH --gpus-per-task=1
+ #SBATCH --nodes=2
+ #SBATCH --ntasks-per-node=4
+ #SBATCH --gpus-per-node=4
  export MASTER_ADDR=$(hostname)
  srun python train.py
"""

from jobgen.lint.launchers import launchers, work_commands
from jobgen.lint.reader.commands import starter_of
from jobgen.lint.rules import Findings, Script, finding_at

# Some programs need it.
OPTIONAL = True


def check(script: Script) -> Findings:
    per_task = script.directive("gpus-per-task")
    if not per_task or per_task.value.rpartition(":")[2] != "1" or launchers(script):
        return
    counts = script.number("ntasks"), script.number("ntasks-per-node")
    has_several = any(count and count > 1 for count in counts)
    runs = [each for each in work_commands(script) if starter_of(each) == "srun"]
    if has_several and runs and "--gpu-bind" not in script.text:
        text = "each task sees one GPU, as number 0: a program that takes its local rank's fails"
        yield finding_at(per_task, text, "use --gpus-per-node, and as many tasks per node")
