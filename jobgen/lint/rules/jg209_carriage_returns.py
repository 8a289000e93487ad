r"""The lines end as on Windows.

With a carriage return at the end of its lines a script is refused, or its commands get a word
more than one sees.

Evidence: sbatch: "Batch script contains DOS line breaks"; qsub: "script contains cr, lf"
(tried).

Cure: `dos2unix FILE`, or `sed -i 's/\r$//' FILE`.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.rules import Finding
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=2\r
srun hostname\r
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
srun hostname
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    for number, line in enumerate(script.lines, 1):
        if line.endswith("\r"):
            yield Finding(number, len(line), "the line ends with a carriage return", "dos2unix")
            return
