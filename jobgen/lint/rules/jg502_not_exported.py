"""A variable for the program is set, but not exported."""

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
_EXPORTS_ALL = re.compile(r"set .*(-[a-z]*a|allexport)")


def check(script: Script) -> Findings:
    if not script.scheduler or any(_EXPORTS_ALL.match(each.text) for each in script.commands):
        return
    known_names = script.exports | {name for name, _ in script.variable_uses}
    for assignment in script.assignments:
        name, value = assignment.name, assignment.value.text
        is_for_script = _FOR_SCRIPTS.match(name) and name not in _READ_BY_PROGRAMS
        if name in known_names or not _FOR_PROGRAMS.match(name) or is_for_script:
            continue
        if assignment.depth > 0 or assignment.is_for_command:
            continue
        if not re.search(rf"--(env|export)\b.*\b{re.escape(name)}\b", script.text):
            text = f"{name} is not exported: no program sees it"
            yield finding_at(assignment, text, f"export {name}={value or '…'}")
