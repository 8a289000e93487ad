"""A variable is used in the command for which it is set.

In `NAME=value command $NAME`, the shell expands $NAME before it sets the variable for the command.
The command gets the old value, mostly an empty one: `--master_addr=$MASTER_ADDR` becomes
`--master_addr=`.

Evidence: bash(1), SIMPLE COMMAND EXPANSION; SC2097 and SC2098 of shellcheck find the same.
Tried: torchrun refuses the endpoint `:29400`.

Cure: `export NAME=value` on a line before.

Example:
- MASTER_ADDR=10.0.0.1 torchrun --nnodes=2 --node_rank=0 --master_addr=$MASTER_ADDR train.py
+ export MASTER_ADDR=10.0.0.1
+ torchrun --nnodes=2 --node_rank=0 --master_addr=$MASTER_ADDR train.py
"""

import re

from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
    for command in script.commands if not script.parse_error else ():
        used = {name for word in command.words for name in word.variables}
        for assignment in command.assignments:
            name, value = assignment.name, assignment.value.text
            is_set_elsewhere = len(script.assignments_of(name)) > 1
            extends_itself = re.search(rf"\$\{{?{re.escape(name)}\b", value)
            if name in script.dynamic_variables or is_set_elsewhere or extends_itself:
                continue
            if name in used:
                text = f"${name} is expanded before it is set for this command"
                yield finding_at(assignment, text, f"export {name}={value} on a line before")
