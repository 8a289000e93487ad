"""SLURM_NODELIST is the old name of SLURM_JOB_NODELIST.

sbatch still sets it, for scripts from before 2010. The manual of srun no longer lists it.

Evidence: sbatch(1): SLURM_JOB_NODELIST, "and SLURM_NODELIST for backwards compatibility".

Cure: $SLURM_JOB_NODELIST.

Example:
  #SBATCH --nodes=2
- scontrol show hostnames $SLURM_NODELIST
+ scontrol show hostnames $SLURM_JOB_NODELIST
"""

from jobgen.lint.rules import Finding, Findings, Script

# So far it works everywhere.
OPTIONAL = True


def check(script: Script) -> Findings:
    if line := dict(script.variable_uses).get("SLURM_NODELIST"):
        column = script.lines[line - 1].find("SLURM_NODELIST")
        text = "SLURM_NODELIST exists for old scripts only"
        yield Finding(line, max(column, 0) + 1, text, "use $SLURM_JOB_NODELIST")
