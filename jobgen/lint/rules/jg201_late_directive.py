"""A directive comes after the first command.

sbatch and qsub stop reading directives at the first line that is neither blank nor a comment. A
later directive is only a comment: the job gets the site's defaults, without a message. Directives
with no command between them are one finding. Those after an `exit` are not reported.

Evidence: sbatch(1), qsub(1B). Tried: `sbatch --test-only` answers 0 for it; OpenPBS ignores it,
too.

Cure: put all directives right after the #! line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobgen.lint.reader.directives import Directive
from jobgen.lint.reader.script import Script
from jobgen.lint.rules import Finding, finding_at
from jobgen.profiles.model import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=2
module load cuda
#SBATCH --gres=gpu:4
srun python train.py
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gres=gpu:4
module load cuda
srun python train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    if script.parse_error:
        return
    for block in _blocks(script.lines, _late_directives(script)):
        more = len({directive.line for directive in block}) - 1
        plural = "s" * (more > 1)
        rest = f", with {more} more directive{plural} below it" if more else ""
        text = f"`{block[0].raw}` is ignored{rest}: it comes after the first command"
        yield finding_at(block[0], text, "move it above the first command")


def _late_directives(script: Script) -> list[Directive]:
    """The directives after the first command, and before the script ends."""
    ends = [
        command.line
        for command in script.commands
        if command.name in ("exit", "return") and not command.enclosing and not command.depth
    ]
    found = [
        directive
        for directive in script.directives
        if directive.is_late and directive.line < min(ends, default=directive.line + 1)
    ]
    if script.active_directives:
        return found
    # It may be another kind of script, with an indented comment about directives.
    return [directive for directive in found if not script.lines[directive.line - 1][:1].isspace()]


def _blocks(lines: Sequence[str], directives: list[Directive]) -> Iterator[list[Directive]]:
    """The directives in groups that have no command between them."""
    block: list[Directive] = []
    for directive in directives:
        if block and any(
            line.strip() and not line.lstrip().startswith("#")
            for line in lines[block[-1].line : directive.line - 1]
        ):
            yield block
            block = []
        block.append(directive)
    if block:
        yield block
