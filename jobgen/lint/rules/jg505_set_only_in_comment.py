"""A variable is used, and set only in a comment.

The line that sets it was turned off for a while, or copied with its #. What uses the variable gets
nothing, or the value of the shell that submitted the job. `--master-port=$PORT` becomes
`--master-port=`. The rule reports nothing if -v, -V, --export or another comment says who gives
the value.

Evidence: bash(1), COMMENTS and PARAMETERS.

Cure: remove the #; or give the default where it is used, ${NAME:-value}.

Example:
  #SBATCH --nodes=2
- #PORT=29500
+ PORT=29500
  srun torchrun --nnodes=2 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$HOSTNAME:$PORT train.py
"""

import re

from jobgen.lint.launchers import launchers, work_commands
from jobgen.lint.rules import Findings, Script, Word, finding_at


def check(script: Script) -> Findings:
    if not script.active_directives or _may_be_given(script):
        return
    unset = _used_variables(script) - _set_variables(script)
    for comment in script.comments:
        # With a blank after the #, or text after it, it is rather a note about who gives the value.
        found = re.fullmatch(r"#(?:export\s+)?([A-Za-z_]\w*)=[^\s$`<]+", comment.text)
        if found and found[1] in unset and not _is_explained(script, found[1], comment):
            text = f"${found[1]} is used, but set only in this comment"
            yield finding_at(comment, text, "remove the #")


def _may_be_given(script: Script) -> bool:
    """Whether a file that is sourced, or who submits the job, may set variables."""
    if any(command.name in ("source", ".", "eval") for command in script.commands):
        return True
    given = any(each.option in ("v", "V", "export") for each in script.active_directives)
    return given or any(re.search(r"sbatch|qsub|--export", each.text) for each in script.comments)


def _is_explained(script: Script, name: str, comment: Word) -> bool:
    """Whether another comment names a variable, or a test asks whether it is set."""
    others = (each.text for each in script.comments if each is not comment)
    is_named = any(re.search(rf"\b{name}\b", text) for text in others)
    return is_named or bool(re.search(rf"-[nvz]\s+\"?\$?\{{?{name}\b", script.text))


def _used_variables(script: Script) -> set[str]:
    """The variables without a default in the commands that do the job's work."""
    commands = {*work_commands(script), *(each.command for each in launchers(script))}
    return {
        name
        for command in commands
        for word in command.words
        for name in word.variables
        if re.search(rf"\$(?:{name}\b|\{{{name}\}})", word.text)
    }


def _set_variables(script: Script) -> set[str]:
    assigned = {assignment.name for assignment in script.assignments}
    return script.dynamic_variables | assigned | script.exports
