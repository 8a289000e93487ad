"""A variable for the program is set, and not exported.

A variable that is not exported stays in the shell: neither torchrun nor NCCL sees it. Nothing
is said; the default is used. A script's own NCCL_HOME, NCCL_TESTS_PATH and the like are left alone.

Evidence: bash(1), ENVIRONMENT.

Cure: `export NAME=value`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

# What a script calls its own so, and the few that programs do read.
_HELPER = re.compile(r".*_(PATH|HOME|DIR|ROOT|VERSION)$")
_READ = frozenset(
    """
    FI_PROVIDER_PATH MIOPEN_CUSTOM_CACHE_DIR MIOPEN_SYSTEM_DB_PATH MIOPEN_USER_DB_PATH
    TORCH_EXTENSIONS_DIR TORCH_HOME UCX_MODULE_DIR
    """.split()
)
BAD = """\
#!/bin/bash
#SBATCH --nodes=2
NCCL_SOCKET_IFNAME=hsn0
srun python train.py
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
NCCL_TESTS_HOME=/opt/nccl-tests
export NCCL_SOCKET_IFNAME=hsn0
srun python train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    texts = [" ".join(word.text for word in each.words) for each in script.commands]
    if any(re.match(r"set .*(-[a-z]*a|allexport)", text) for text in texts):
        return
    used = {name for name, _ in script.uses}
    for each in script.assignments:
        meant = re.match(
            r"(NCCL|FI_|GLOO|TORCH_|TORCHELASTIC_|UCX_|MIOPEN_|OMP_NUM_THREADS$)", each.name
        )
        known = each.name in script.exports or each.name in used
        passed_on = re.search(rf"--(env|export)\b.*\b{re.escape(each.name)}\b", script.text)
        here = script.scheduler and each.depth == 0 and not each.of_command
        if _HELPER.match(each.name) and each.name not in _READ:
            continue
        if meant and here and not known and not passed_on:
            text = f"{each.name} is not exported: no program sees it"
            yield at(each, text, f"export {each.name}={each.value.text or '…'}")
