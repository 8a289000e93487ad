"""The script has directives for Slurm and for PBS.

sbatch also reads #PBS lines, and they override #SBATCH lines.

Evidence: src/sbatch/opt.c; tried with Slurm 22.05: `#PBS -l nodes=1` made one node of `#SBATCH
-N 2`.

Cure: one script for each, or `sbatch --ignore-pbs`.

Example:
  #SBATCH --nodes=2
- #PBS -l nodes=1
  srun hostname
"""

from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
    schedulers = {directive.scheduler for directive in script.active_directives}
    if len(schedulers) < 2 or script.directive("ignore-pbs"):
        return
    if script.is_in_document and not script.interpreter:
        return  # it shows the lines of one scheduler beside those of the other
    for directive in script.active_directives:
        if directive.scheduler == "pbs" and directive.option != "S":
            text = "sbatch also reads #PBS lines, and they override the #SBATCH lines"
            cure = "keep the lines of one scheduler, or add --ignore-pbs"
            yield finding_at(directive, text, cure)
            return
