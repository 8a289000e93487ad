"""A variable for the program is set, but not exported.

A variable that is not exported stays in the shell: neither torchrun nor NCCL sees it. They use the
default, without a message. The rule ignores a script's own NCCL_HOME, NCCL_TESTS_PATH and so on.

Evidence: bash(1), ENVIRONMENT.

Cure: `export NAME=value`.

Example:
  #SBATCH --nodes=2
- NCCL_SOCKET_IFNAME=hsn0
+ NCCL_TESTS_HOME=/opt/nccl-tests
+ export NCCL_SOCKET_IFNAME=hsn0
  srun python train.py
"""

import re

from jobgen.lint.rules import Findings, Script, finding_at

_FOR_PROGRAMS = re.compile(r"(NCCL|FI_|GLOO|TORCH_|TORCHELASTIC_|UCX_|MIOPEN_|OMP_NUM_THREADS$)")
# A script uses such names for its own variables; programs read only a few of them.
_FOR_SCRIPTS = re.compile(r".*_(PATH|HOME|DIR|ROOT|VERSION)$")
_READ_BY_PROGRAMS = frozenset(
    """
    FI_PROVIDER_PATH MIOPEN_CUSTOM_CACHE_DIR MIOPEN_SYSTEM_DB_PATH MIOPEN_USER_DB_PATH
    TORCH_EXTENSIONS_DIR TORCH_HOME UCX_MODULE_DIR
    """.split()
)


def check(script: Script) -> Findings:
    if not script.scheduler or _exports_all(script):
        return
    known_names = script.exports | {name for name, _ in script.variable_uses}
    for assignment in script.assignments:
        name, value = assignment.name, assignment.value.text
        is_local = assignment.depth == 0 and not assignment.is_for_command
        is_for_script = _FOR_SCRIPTS.match(name) and name not in _READ_BY_PROGRAMS
        is_for_program = _FOR_PROGRAMS.match(name) and not is_for_script
        if not is_local or name in known_names or not is_for_program:
            continue
        if not re.search(rf"--(env|export)\b.*\b{re.escape(name)}\b", script.text):
            text = f"{name} is not exported: no program sees it"
            yield finding_at(assignment, text, f"export {name}={value or '…'}")


def _exports_all(script: Script) -> bool:
    """Whether the script says `set -a`."""
    return any(re.match(r"set .*(-[a-z]*a|allexport)", command.text) for command in script.commands)
