"""The first line names no interpreter.

sbatch refuses a script that does not begin with `#!`, be it for a comment or a blank line above it:
"This does not look like a batch script". A byte order mark (BOM), which some editors write and few
show, is such a beginning, and hides the line from the kernel, too.

Evidence: tried with Slurm 22.05, which says so; it looks at the first two bytes.

Cure: `#!/bin/bash` as the first line; `sed -i '1s/^\\xef\\xbb\\xbf//' FILE` takes a BOM away.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.prose import is_prose
from jobgen.lint.rules import Finding
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
# trains the model
#!/bin/bash
#SBATCH --nodes=2
srun python train.py
"""
GOOD = """\
#!/bin/bash
# trains the model
#SBATCH --nodes=2
srun python train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    if script.marked and not is_prose(script.file):
        text = "a byte order mark (BOM) hides the first line from sbatch, qsub and the kernel"
        yield Finding(1, 1, text, "save the file as UTF-8 without BOM")
        return
    # A text shows parts of scripts; a file of directives alone is put before others.
    named = script.lines[script.begins - 1].startswith("#!")
    if named or is_prose(script.file) or not script.commands:
        return
    if any(each.scheduler == "slurm" for each in script.live):
        text = "sbatch refuses a script whose first line does not begin with #!"
        yield Finding(script.begins, 1, text, "#!/bin/bash as the first line")
