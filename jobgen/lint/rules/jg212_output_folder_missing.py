"""The folder of the output does not exist.

Slurm opens the output file before the script runs. If its folder does not exist, the job fails at
once, and no output says why. PBS runs the job, and its output stays on the node, where nobody finds
it. lint searches for this only where the rule is selected, which is useful on the cluster:
elsewhere a folder that git does not keep may be missing although nothing is wrong. It reports a
relative folder that is not beside the script, nor in a folder above it, nor in the working folder.

Evidence: tried with Slurm 22.05: `--output=nope/%j.out`, and `--error` as well, end with
JobState=FAILED Reason=JobLaunchFailure and no file; OpenPBS: the output silently stays in the mom's
undelivered/.

Cure: `mkdir -p logs` before you submit. Git keeps no empty folder: commit logs/.gitkeep with the
script, or write the output beside the script.

Example:
  #SBATCH --nodes=2
- #SBATCH --output=no-such-folder/%j.out
+ #SBATCH --output=%x-%j.out
  srun hostname
"""

import os
from collections.abc import Iterator
from pathlib import Path

from jobgen.lint.rules import Findings, Script, finding_at

# Only where the job is submitted is it known which folders exist.
OPTIONAL = True


def check(script: Script) -> Findings:
    if script.file == "-" or script.directive("chdir"):
        return
    is_slurm = script.scheduler == "slurm"
    makers = [each for each in script.commands if each.name in ("mkdir", "install")]
    for directive in map(script.directive, ("output", "error") if is_slurm else ("o", "e")):
        folder = directive.value.rpartition("/")[0].removeprefix("./") if directive else ""
        if not directive or not folder or folder.startswith(("/", "~", "..")):
            continue
        if set(folder) & set("%$^:<{") or any(folder in maker.text for maker in makers):
            continue  # that the job makes it is right with PBS; with Slurm, JG210 reports it
        if not any(map(os.path.isdir, _paths(script.file, folder))):
            effect = "the job fails without a message" if is_slurm else "the output is lost"
            text = f"the output goes to {folder}, which does not exist: {effect}"
            yield finding_at(directive, text, "make it before you submit")


def _paths(file: str, folder: str) -> Iterator[str]:
    """Where the folder may be: in the folders from which a person may submit."""
    yield folder
    for above in Path(os.path.abspath(file)).parents:
        yield os.path.join(above, folder)
        if os.path.exists(above / ".git"):
            return
