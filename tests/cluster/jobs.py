"""Jobs for the cluster, made and submitted as a user does."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.cluster.harness import Cluster, Finished
from tests.cluster.site import ONE_THREAD, Ended, Site, lab

# What the nodes here lack: the image, GPUs, and cores for many threads. The request and the number
# of ranks stay.
ON_CPU = ("--set", "software.container=null", "--set", "node.gpu=none", *ONE_THREAD)
PATH = f"{Path(sys.executable).parent}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def own_environment(*lines: str, node: str = "HOSTNAME") -> list[str]:
    """Words with which each node makes an environment of its own, after other lines of shell.

    It has the torch of the tests by a .pth file; its folder is `env-` and the node's name, which
    the variable `node` has.
    """
    packages = Path(str(importlib.util.find_spec("torch").origin)).parents[1]  # type: ignore[union-attr]
    made = (
        *lines,
        f"python3 -m venv env-${node}",
        f"echo {packages} > $(echo env-${node}/lib/python3*/site-packages)/torch.pth",
    )
    values = (f"software.venv=$PWD/env-${node}", f"software.once_per_node={[*made]}")
    return [word for value in values for word in ("--set", value)]


def generate(*words: str, cwd: Path) -> str:
    """What `jobgen` prints for these words."""
    command = [sys.executable, "-m", "jobgen", *words]
    return subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, text=True, check=True).stdout


def job_folders(folder: Path, logs: str = "jobgen-logs") -> list[Path]:
    """The folders that jobs left beside their records and scripts: none after a success."""
    found = (each for each in folder.glob(f"{logs}/*") if each.is_dir())
    return sorted(each for each in found if each.name != "scripts")


def without_memory_of_others(output: str) -> str:
    """A job's output, whatever memory other tests took: all nodes here have one kernel."""
    return re.sub("[,;][^,;\n]*memory ran out for this job or another[^;\n]*", "", output)


@dataclass(frozen=True)
class Desk:
    """Where a user sits: a cluster, a folder to submit from, and the PATH there."""

    cluster: Cluster
    folder: Path
    path: str = PATH

    def submit(self, *words: str, options: Sequence[str] = ()) -> int:
        """`jobgen sbatch WORDS | sbatch OPTIONS`: the job's id."""
        return self.send(generate("sbatch", *words, cwd=self.folder), options)

    def send(self, script: str, options: Sequence[str] = ()) -> int:
        """`sbatch OPTIONS` with any script: the job's id."""
        return self.cluster.sbatch(script, *options, cwd=self.folder, env={"PATH": self.path})

    def run(self, *words: str, options: Sequence[str] = (), timeout: float = 180) -> Finished:
        """The same, and the job when it has ended."""
        return self.cluster.wait(self.submit(*words, options=options), timeout)

    def program(self, name: str, text: str) -> str:
        """Write a program that jobs can run; its name, for the command line."""
        file = self.folder / name
        file.write_text(text)
        file.chmod(0o755)
        return name


@dataclass(frozen=True)
class PbsDesk:
    """The same with PBS; jobs have one rank a node, which is quicker."""

    site: Site
    folder: Path
    jobs: list[str] = field(default_factory=list)

    def submit(self, *words: str, file: bool = False) -> str:
        """`jobgen qsub --profile eap WORDS | qsub`: the job's id."""
        return self.send(self.script(*words), file)

    def script(self, *words: str) -> str:
        """`jobgen qsub --profile eap WORDS`."""
        return generate("qsub", "--profile", "eap", *lab(ranks=1), *words, cwd=self.folder)

    def send(self, script: str, file: bool = False) -> str:
        """`qsub` with any script: the job's id."""
        self.jobs.append(self.site.submit(script, self.folder, file))
        return self.jobs[-1]

    def clear(self) -> None:
        """End what a failed test has left running."""
        for job in self.jobs:
            if self.site.ended(job) is None:
                self.site.delete(job)
                self.site.wait(job, self.folder)

    def run(self, *words: str, file: bool = False) -> Ended:
        """The same, and the job when it has ended."""
        return self.site.wait(self.submit(*words, file=file), self.folder)

    def program(self, name: str, text: str) -> str:
        """Write a program that jobs can run; its name, for the command line."""
        (self.folder / name).write_text(text)
        return name
