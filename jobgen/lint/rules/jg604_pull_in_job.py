"""The job itself fetches its code.

`git pull` brings the branch as it is when the job starts, not as it was when the job was submitted.
Two jobs of a sweep run different code, and a job that is queued again goes on with other code than
before. If several jobs share the folder, their pulls change each other's code.

Evidence: git-pull(1); a requeued job starts its script again (sbatch(1), --requeue).

Cure: fetch before you submit; or check out one commit into a folder of its own, as jobgen's
`workspace` does.

Example:
  #SBATCH --nodes=1
- cd repo && git pull
+ cd repo
  srun python train.py
"""

from jobgen.lint.launchers import work_commands
from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
    if not script.active_directives or not work_commands(script):
        return
    for command in script.commands:
        if command.name == "git" and "pull" in command.arguments[:3]:
            text = "the job runs the code of the branch as it is when the job starts"
            yield finding_at(command, text, "fetch one commit before you submit")
