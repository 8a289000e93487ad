"""The script is for another scheduler than the profile.

Directives of the other scheduler are comments to this one.

Evidence: sbatch(1), qsub(1B).

Cure: the profile for which the script is, or the directives of this one.

Example:
- #PBS -l select=2:ncpus=4
+ #SBATCH --nodes=2
+ #SBATCH --gres=gpu:8
  hostname
"""

from jobgen.lint.rules import Findings, Script, finding_at

PROFILE = "mi210"


def check(script: Script) -> Findings:
    profile = script.profile
    scheduler = profile.scheduler if profile else None
    if scheduler not in ("slurm", "pbs") or not script.active_directives:
        return
    if script.scheduler not in ("", scheduler):
        text = f"the profile is for {scheduler}, but the directives are for {script.scheduler}"
        cure = "lint it with the profile of its cluster"
        yield finding_at(script.active_directives[0], text, cure)
