"""SLURM_NODELIST is the old name of SLURM_JOB_NODELIST."""

from jobgen.lint.rules import Finding, Findings, Script

# So far it works everywhere.
OPTIONAL = True


def check(script: Script) -> Findings:
    if line := dict(script.variable_uses).get("SLURM_NODELIST"):
        column = script.lines[line - 1].find("SLURM_NODELIST")
        text = "SLURM_NODELIST exists for old scripts only"
        yield Finding(line, max(column, 0) + 1, text, "use $SLURM_JOB_NODELIST")
