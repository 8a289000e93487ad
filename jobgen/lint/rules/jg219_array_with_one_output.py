"""All tasks of an array write to one output file.

Each task of an array opens the output file for itself, and empties it. If the name is the same for
all of them, they overwrite each other's lines: the file has a part of one task's output, and what
the others wrote is lost. %A is the number of the array: it is the same for all of its tasks.

Evidence: sbatch(1), filename pattern and --open-mode: the default of a site is mostly to truncate.

Cure: `--output=logs/%A_%a.out`: %a is the number of the task; or `--open-mode=append`.

Example:
  #SBATCH --array=1-10
- #SBATCH --output=run.out
+ #SBATCH --output=run_%a.out
+ #SBATCH --error=/dev/null
  python train.py --fold $SLURM_ARRAY_TASK_ID
"""

import re

from jobgen.lint.rules import Findings, Script, finding_at

# What is another text for each task: its number, its job, or (mostly) its node.
_DIFFERS = re.compile(r"%\d*[ajJN]|\$|[{}<>]|^/dev/")


def check(script: Script) -> Findings:
    array, mode = script.directive("array"), script.directive("open-mode")
    has_several = array and re.search("[-,:]", array.value.split("%")[0])
    appends = mode and mode.value.startswith("a")
    if script.scheduler != "slurm" or not array or not has_several or appends:
        return
    for directive in map(script.directive, ("output", "error")):
        if directive and directive.value and not _DIFFERS.search(directive.value):
            text = f"all tasks of the array (see line {array.line}) overwrite {directive.value}"
            yield finding_at(directive, text, "add %a, the number of the task, to the name")
