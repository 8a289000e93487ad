"""The lines end with carriage returns, as on Windows.

With a carriage return at the end of its lines, a script is refused, or its commands get one more
word, which nobody sees.

Evidence: sbatch: "Batch script contains DOS line breaks"; qsub: "script contains cr, lf"
(tried).

Cure: `dos2unix FILE`, or `sed -i 's/\\r$//' FILE`.

Mend: --fix removes the carriage returns of all lines.

Example:
- #SBATCH --nodes=2\r
- srun hostname\r
+ #SBATCH --nodes=2
+ srun hostname
"""

from jobgen.lint.rules import Finding, Findings, Script, replacement


def check(script: Script) -> Findings:
    edits = tuple(
        replacement(number, len(line), "\r", "")
        for number, line in enumerate(script.lines, 1)
        if line.endswith("\r")
    )
    if edits:
        line, column, *_ = edits[0]
        text = "the line ends with a carriage return"
        yield Finding(line, column, text, "run dos2unix on the file", "\r", edits)
