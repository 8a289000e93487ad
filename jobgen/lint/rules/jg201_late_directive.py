"""A directive comes after the first command.

sbatch and qsub stop reading directives at the first line that is neither blank nor a comment.
What comes later is a comment: the job gets the site's defaults, and nobody says so. Told once of all
that no command comes between; not of what stands behind an `exit`.

Evidence: sbatch(1), qsub(1B). Tried: `sbatch --test-only` answers 0 for it; OpenPBS ignores it,
too.

Cure: all directives right below the #! line.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.directives import Directive
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

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
    if script.broken:
        return
    ends = [each.line for each in script.commands
            if each.name in ("exit", "return") and not each.within and not each.depth]  # fmt: skip
    late = [
        each
        for each in script.directives
        if each.late and each.line < min(ends, default=each.line + 1)
    ]
    if not script.live:  # a program of another kind, with a comment about directives?
        late = [each for each in late if not script.lines[each.line - 1][:1].isspace()]
    for block in _blocks(script.lines, late):
        more = len({each.line for each in block}) - 1
        rest = f", and so {'are' if more > 1 else 'is'} {more} more below" if more else ""
        text = f"`{block[0].raw}` is ignored{rest}: it comes after the first command"
        yield at(block[0], text, "move it up, before all commands")


def _blocks(lines: list[str], late: list[Directive]) -> Iterator[list[Directive]]:
    """Those that no command comes between."""
    block: list[Directive] = []
    for each in late:
        if block and any(
            line.strip() and not line.lstrip().startswith("#")
            for line in lines[block[-1].line : each.line - 1]
        ):
            yield block
            block = []
        block.append(each)
    if block:
        yield block
