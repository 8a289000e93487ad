"""The file that says whether a job of a profile ran, in which no name of the cluster can be.

Each value is chosen here, and is a number, a day, or one of a few words: the file is published.
What a program or a variable answers is never copied, only the digits of a version in it.
"""

import json
import os
import platform
import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from typing import Any

import torch

from jobgen.trainers.checkup.proof_words import (
    CHECKS,
    FORMAT,
    NETWORKS,
    VERSION,
    plain_version,
)

# The variable of a job of each scheduler, what prints its version there, and what is before it.
SCHEDULERS = {
    "slurm": ("SLURM_JOB_ID", ("scontrol", "--version"), r"slurm[\w-]* "),
    "pbs": ("PBS_JOBID", ("qstat", "--version"), "pbs_version = "),
}


def version_of_program(words: Sequence[str], before: str) -> str:
    """The version that a program prints; "" if it is not here, as in many containers."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(f"^{before}({VERSION.pattern})", done.stdout, re.MULTILINE)
    return found[1] if found else ""


def versions(jobgen: str) -> dict[str, str]:
    """The version of each program that has one here."""
    nccl = torch.cuda.nccl.version() if torch.cuda.is_available() else ""  # RCCL's on AMD's GPUs
    found = {
        "jobgen": plain_version(jobgen),
        "python": plain_version(platform.python_version()),
        "torch": plain_version(torch.__version__),
        "nccl": ".".join(map(str, nccl)),
        "cuda": plain_version(torch.version.cuda or ""),
        "rocm": plain_version(torch.version.hip or ""),
    }
    for name, (variable, words, before) in SCHEDULERS.items():
        if variable in os.environ:
            found[name] = version_of_program(words, before)
    return {name: version for name, version in found.items() if version}


class Proof:
    """The file of one job, written whole after each check: it is there if the job is killed, too.

    `facts` is what the command knows of the profile. Without a file, nothing is written: only one
    rank has it.
    """

    def __init__(self, file: str, facts: dict[str, Any]) -> None:
        self.file = file
        self.failed = list(CHECKS)
        self.values: dict[str, Any] = {
            "format": FORMAT,
            "profile": str(facts["profile"]),
            "hash": str(facts["hash"]),
            "options": [str(option) for option in facts["options"]],
            "day": time.strftime("%Y-%m-%d", time.gmtime()),
            "nodes": None,
            "ranks": None,
            "versions": versions(str(facts["jobgen"])) if file else {},
            "bandwidth": None,
            "networks": [],
        }
        self.write()

    def add(self, check: str, passed: bool = True, **values: Any) -> None:
        """Note what a check found, and whether it passed."""
        self.values.update(values)
        if passed:
            self.failed.remove(check)
        self.write()

    def add_networks(self, names: set[str], passed: bool) -> None:
        """Note the last check: the networks that were used, of which others' names are left out."""
        self.add("network", passed, networks=[name for name in NETWORKS if name in names])

    def write(self) -> None:
        """Write the file, whole or not at all. Raises OSError."""
        if not self.file:
            return
        values = {**self.values, "passed": not self.failed, "failed": self.failed}
        folder = os.path.dirname(self.file) or "."
        with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".tmp", delete=False) as file:
            file.write(json.dumps(values, indent=2, allow_nan=False) + "\n")
        os.chmod(file.name, 0o644)
        os.replace(file.name, self.file)
