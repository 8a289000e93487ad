"""A variable in a directive is not expanded.

Directives are comments to the shell: it expands nothing in them. The output goes to a folder with
the name `$HOME`, if there is one.

Evidence: sbatch(1) has patterns such as %j and %x instead. Tried with Slurm 22.05 and OpenPBS:
taken literally, `$PBS_JOBID` in -o too.

Cure: sbatch's patterns, an absolute path, or the option on the command line: `sbatch -o
"$HOME/x.out"`.

Example:
- #SBATCH --output=$HOME/logs/%j.out
+ #SBATCH --output=%x-%j.out
  srun hostname
"""

import re

from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
    for directive in script.active_directives:
        variable = re.search(r"\$\{?[A-Za-z_]\w*\}?", directive.value)
        is_of_openpbs = script.chunk_requests and directive.option in "oeN"
        if variable and (directive.scheduler == "slurm" or is_of_openpbs):
            text = f"`{variable[0]}` is not expanded in a directive"
            cure = "write the value, or give the option on the command line"
            yield finding_at(directive, text, cure)
