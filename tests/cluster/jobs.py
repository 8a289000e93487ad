"""Jobs for the cluster, made and submitted as a user does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.harness import Cluster, Finished

# What the nodes here lack: the image, and GPUs. The request and the number of ranks stay.
ON_CPU = ("--set", "software.container=null", "--set", "node.gpu=none")
PATH = f"{Path(sys.executable).parent}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def generate(*words: str, cwd: Path) -> str:
    """What `jobgen` prints for these words."""
    command = [sys.executable, "-m", "jobgen", *words]
    return subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, text=True, check=True).stdout


@dataclass(frozen=True)
class Desk:
    """Where a user sits: a cluster, and a folder to submit from."""

    cluster: Cluster
    folder: Path

    def submit(self, *words: str, options: Sequence[str] = ()) -> int:
        """`jobgen sbatch WORDS | sbatch OPTIONS`: the job's id."""
        script = generate("sbatch", *words, cwd=self.folder)
        return self.cluster.sbatch(script, *options, cwd=self.folder, env={"PATH": PATH})

    def run(self, *words: str, options: Sequence[str] = (), timeout: float = 90) -> Finished:
        """The same, and the job when it has ended."""
        return self.cluster.wait(self.submit(*words, options=options), timeout)

    def program(self, name: str, text: str) -> str:
        """Write a program that jobs can run; its name, for the command line."""
        file = self.folder / name
        file.write_text(text)
        file.chmod(0o755)
        return name
