"""What `jobgen --help` says of the commands: click is not needed for it, and takes a while."""

from __future__ import annotations

COMMANDS = {
    "Write a script": {
        "sbatch": "The script for Slurm, on stdout.",
        "qsub": "The script for PBS, on stdout.",
        "local": "The script for this machine alone.",
    },
    "Keep scripts": {
        "build": "Write the scripts of a manifest.",
        "check": "Are generated scripts still what jobgen makes?",
        "lint": "Say what will go wrong with job scripts.",
        "rules": "What lint looks for: all rules, or the page of one.",
    },
    "Work by hand": {
        "interactive": "The line that asks for nodes and a shell.",
        "byhand": "The torchrun lines to paste, one a host.",
    },
    "Look up": {
        "profiles": "The clusters: list, show NAME, validate FILE..., schema.",
        "trainers": "The packaged trainers: list, show NAME, export NAME.",
        "templates": "The templates: list, show NAME.",
        "completion": "The script that completes jobgen's words in a shell.",
    },
}
PLANNING = {*COMMANDS["Write a script"], *COMMANDS["Work by hand"]}  # those that plan a job
NAMES = [name for names in COMMANDS.values() for name in names]

_HEAD = """\
Usage: jobgen [OPTIONS] COMMAND [ARGS]...

  Write the batch script for a multi-node PyTorch job.

    jobgen sbatch --profile mi210 -N 3 | sbatch
    jobgen sbatch --profile mi210 -N 3 -- train.py --lr 0.1 | sbatch
    jobgen qsub --profile eap -N 2 | qsub
    jobgen local | bash
"""
_OPTIONS = {"--version": "Show the version and exit.", "-h, --help": "Show this message and exit."}


def overview() -> str:
    """The commands under their headings, each with a line, and the options of all of them."""
    text = _HEAD
    for heading, rows in {**COMMANDS, "Options": _OPTIONS}.items():
        width = 12 if rows is not _OPTIONS else 10
        text += f"\n{heading}:\n"
        text += "".join(f"  {name:<{width}}  {said}\n" for name, said in rows.items())
    return text.rstrip("\n")
