"""The first line names no interpreter.

sbatch refuses a script that does not begin with `#!`: "This does not look like a batch script". A
comment or a blank line above the #! line is enough. A byte order mark (BOM), which some editors
write and few show, has the same effect, and hides the line from the kernel, too.

Evidence: tried with Slurm 22.05, which says so; it looks at the first two bytes.

Cure: `#!/bin/bash` as the first line; `sed -i '1s/^\\xef\\xbb\\xbf//' FILE` removes a BOM.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.documents import is_document
from jobgen.lint.reader.script import Script
from jobgen.lint.rules import Finding
from jobgen.profiles.model import Profile

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
    if is_document(script.file):  # it shows parts of scripts
        return
    if script.has_byte_order_mark:
        text = "a byte order mark (BOM) hides the first line from sbatch, qsub and the kernel"
        yield Finding(1, 1, text, "save the file as UTF-8 without BOM")
        return
    has_interpreter = script.lines[script.first_line - 1].startswith("#!")
    is_slurm = any(directive.scheduler == "slurm" for directive in script.active_directives)
    if is_slurm and not has_interpreter and script.commands:  # else it is to be put before others
        text = "sbatch refuses a script whose first line does not begin with #!"
        yield Finding(script.first_line, 1, text, "make #!/bin/bash the first line")
