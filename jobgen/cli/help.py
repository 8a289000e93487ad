"""The text of `jobgen --help`; it needs no click, which takes a while to import."""

from __future__ import annotations

COMMANDS = {
    "Write a script": {
        "sbatch": "The script for Slurm, on stdout.",
        "qsub": "The script for PBS, on stdout.",
        "local": "The script for this machine alone.",
    },
    "Keep scripts": {
        "build": "Write the scripts of a manifest.",
        "check": "Check whether generated scripts are still what jobgen makes.",
        "lint": "Find what goes wrong with job scripts.",
        "rules": "The rules of lint, or the page of one.",
    },
    "Work by hand": {
        "interactive": "The command that requests nodes and a shell.",
        "byhand": "The torchrun command for each host, to paste.",
    },
    "Check a cluster": {
        "doctor": "The script of a job that measures each node and the network.",
    },
    "Find what failed": {
        "why": "Find what failed first in a job, from its output.",
    },
    "Look up": {
        "detect": "Write a profile of the cluster that it runs on.",
        "profiles": "The clusters: list, show NAME, explain KEY, validate FILE..., schema.",
        "trainers": "The packaged trainers: list, show NAME, export NAME.",
        "templates": "The templates: list, show NAME.",
        "machinery": "The parts that make the lower half of a script: list, show NAME...",
        "completion": "The script that completes jobgen's words in a shell.",
    },
    "Serve a site": {
        "page": "Write a web page on which people make scripts.",
    },
}
JOB_COMMANDS = {*COMMANDS["Write a script"], *COMMANDS["Work by hand"]}
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
    """The commands under their headings, one line each, and the options of all of them."""
    text = _HEAD
    for heading, rows in {**COMMANDS, "Options": _OPTIONS}.items():
        width = 12 if rows is not _OPTIONS else 10
        text += f"\n{heading}:\n"
        text += "".join(f"  {name:<{width}}  {line}\n" for name, line in rows.items())
    return text.rstrip("\n")
