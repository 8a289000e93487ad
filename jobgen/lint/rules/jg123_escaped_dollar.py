r"""A variable in single quotes has a backslash, and stays a name.

In `srun bash -c "… \$SLURM_JOB_ID …"`, the backslash keeps the batch script's shell from expanding
the variable. In single quotes, nothing is expanded there anyway, and the backslash goes on to the
node's shell, which then does not expand the variable either. The launcher gets the dollar and the
name: `--rdzv-id=$SLURM_JOB_ID` is one id for all jobs, and `--node-rank=$SLURM_NODEID` is no
number.

Evidence: bash(1), QUOTING: "Enclosing characters in single quotes preserves the literal value of
each character". Tried: `bash -c 'echo \$HOME'` prints $HOME.

Cure: remove the backslash, or write double quotes.

Example:
  #SBATCH --nodes=2
- srun --ntasks-per-node=1 bash -c 'torchrun --nnodes=2 --rdzv-id=\$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py'
+ srun --ntasks-per-node=1 bash -c 'torchrun --nnodes=2 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py'
+ srun --ntasks-per-node=1 bash -c "torchrun --nnodes=2 --rdzv-id=\$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29501 train.py"
"""

import re

from jobgen.lint.launchers import launchers
from jobgen.lint.rules import Findings, Script, finding_at

_ESCAPED = re.compile(r"(?<!\\)\\\$\{?([A-Za-z_]\w*)")


def check(script: Script) -> Findings:
    for launcher in launchers(script):
        for name, word in launcher.options.items() if launcher.command.depth == 1 else ():
            if found := _ESCAPED.search(word.raw if not word.raw.startswith("'") else ""):
                option = launcher.option_name(name)
                text = f"{option} gets the text ${found[1]}, not its value"
                yield finding_at(word, text, "remove the backslash")
