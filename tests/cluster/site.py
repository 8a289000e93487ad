"""A site with PBS: a real OpenPBS on the cluster's nodes, or a stand-in for one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from tests.cluster.harness import Cluster
from tests.helpers import unlabelled

NODES = ("blancapeak003", "blancapeak004", "blancapeak005")
DOMAIN = "hostmgmt2000.cm.us.cray.com"
USER = 20001
START = Path(__file__).parent / "pbs/start.sh"
# What runs on a node without any job.
_OURS = re.compile(r"ps -wweo|/init\.sh |sleep 0\.2$|pbs_mom|^nsenter|^sh -c cd ")


@dataclass(frozen=True)
class Ended:
    """A job that has ended: its exit status as PBS has it (256+N: signal N), and its output.

    `output` has no labels (node and rank before a line), `labelled` is the file itself.
    """

    status: int
    labelled: str

    @property
    def output(self) -> str:
        return unlabelled(self.labelled)

    @property
    def last(self) -> str:
        """The last line of the output."""
        return self.output.splitlines()[-1] if self.output else ""


def prefix() -> Path | None:
    """Where an OpenPBS with its server is installed, if there is one."""
    if folder := os.environ.get("PBS_LAB_PREFIX"):
        return Path(folder)
    found = shutil.which("qsub")
    folder = str(Path(found).resolve().parents[1]) if found else ""
    return Path(folder) if folder and (Path(folder) / "sbin/pbs_mom").exists() else None


class Site(ABC):
    """What both have."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    environment: ClassVar[dict[str, str]] = {}  # more variables of who submits

    @abstractmethod
    def submit(self, script: str, cwd: Path, file: bool = False) -> str:
        """Submit from stdin, or from a file; the job's id."""

    @abstractmethod
    def ended(self, job: str) -> int | None:
        """A job's exit status, or None while it is not over."""

    @abstractmethod
    def delete(self, job: str) -> None:
        """qdel."""

    def wait(self, job: str, cwd: Path, timeout: float = 240) -> Ended:
        """The job when it has ended; it was submitted in `cwd`."""
        limit = time.monotonic() + timeout
        while (status := self.ended(job)) is None:
            if time.monotonic() > limit:
                self.delete(job)
                raise AssertionError(f"job {job} does not end; so far:\n{self.output(job, cwd)}")
            time.sleep(0.2)
        return Ended(status, self.output(job, cwd))

    def output(self, job: str, cwd: Path) -> str:
        """What a job has printed so far."""
        files = list(cwd.glob(f"*.o{job.partition('.')[0]}"))
        return files[0].read_text(errors="replace") if files else ""

    def wait_for(self, text: str, job: str, cwd: Path, timeout: float = 120) -> None:
        """Until a job's output has `text`."""
        limit = time.monotonic() + timeout
        while text not in self.output(job, cwd):
            if time.monotonic() > limit:
                raise AssertionError(f"no {text!r} in\n{self.output(job, cwd)}")
            time.sleep(0.1)

    def pids(self, node: str, pattern: str) -> list[str]:
        """Processes of a node whose command line has `pattern`, each after its parent."""
        found = self.cluster.on(node, "ps", "-wweo", "pid,args", "--forest").stdout
        found = re.sub(r"^( *\d+) [ |\\_]*", r"\1 ", found, flags=re.MULTILINE).splitlines()
        return [line.split()[0] for line in found if re.search(pattern, line)]

    def kill(self, node: str, pattern: str) -> None:
        """SIGKILL for such processes of a node; there has to be one."""
        pids = self.pids(node, pattern)
        assert pids, pattern
        self.cluster.on(node, "kill", "-KILL", *pids)

    def leftovers(self) -> dict[str, list[str]]:
        """Processes of jobs on each node that still has any after 30 s."""
        limit = time.monotonic() + 30
        while True:
            found = {node: self._of_jobs(node) for node in NODES}
            found = {node: lines for node, lines in found.items() if lines}
            if not found or time.monotonic() > limit:
                return found
            time.sleep(0.2)

    def _of_jobs(self, node: str) -> list[str]:
        lines = self.cluster.on(
            node, "ps", "-wweo", "stat,args", "--no-headers"
        ).stdout.splitlines()
        running = [line.split(None, 1)[1] for line in lines if not line.startswith("Z")]
        return [line for line in running if not _OURS.search(line)]


class OpenPbs(Site):
    """A real one, installed in `folder`; its server is on the login machine, `home` its user's."""

    def __init__(self, cluster: Cluster, folder: Path, home: Path) -> None:
        super().__init__(cluster)
        self.folder, self.home = folder, home
        shutil.chown(home, USER, USER)
        done = cluster.run([str(START), str(cluster.folder), str(folder), str(home)], timeout=240)
        limit = time.monotonic() + 60
        while self.tool("pbsnodes", "-aS").stdout.count(" free ") != len(NODES):
            if done.returncode or time.monotonic() > limit:
                raise RuntimeError(f"OpenPBS did not start:\n{done.stdout}\n{done.stderr}")
            time.sleep(0.2)

    def tool(
        self, name: str, *words: str, cwd: Path | None = None, input: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """One of PBS's commands, on the login machine."""
        return self.cluster.run(self.command(name, *words), cwd=cwd, input=input)

    def command(self, *words: str) -> list[str]:
        """The command that runs another there as the user."""
        become = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "env", "-i"]
        become += [f"HOME={self.home}", "USER=labuser", "LOGNAME=labuser", "SHELL=/bin/bash"]
        become += [f"{name}={value}" for name, value in self.environment.items()]
        return [*become, f"PATH={self.folder}/bin:/usr/bin:/bin", "LANG=C.UTF-8", *words]

    def missing(self) -> str | None:
        """Why the user there could not run these tests' jobs, or None."""
        become = ["setpriv", "--reuid=20001", "--regid=20001", "--clear-groups", "env"]
        done = self.cluster.run([*become, sys.executable, "-c", ""])  # env: setpriv may do more
        return f"other users cannot run {sys.executable}" if done.returncode else None

    def submit(self, script: str, cwd: Path, file: bool = False) -> str:
        shutil.chown(cwd, USER, USER)
        if file:
            (cwd / "job.sh").write_text(script)
        words = ["job.sh"] if file else []
        # -f: without the process that qsub leaves in the background for the next one.
        done = self.tool("qsub", "-f", *words, cwd=cwd, input=None if file else script)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()

    def start_mom(self, node: str) -> None:
        """Again, after it was killed. PBS starts no job there until it has answered."""
        self.cluster.on(node, str(self.folder / "sbin/pbs_mom"))
        limit = time.monotonic() + 60
        while "state = free" not in (shown := self.tool("pbsnodes", node).stdout):
            assert time.monotonic() < limit, shown
            time.sleep(0.5)

    def attributes(self, job: str) -> dict[str, str]:
        """What `qstat -f` says of a job."""
        shown = self.tool("qstat", "-xf", job).stdout.replace("\n\t", "")
        return dict(re.findall(r"^ +(\S+) = (.*)$", shown, re.MULTILINE))

    def ended(self, job: str) -> int | None:
        found = self.attributes(job)
        return int(found.get("Exit_status", 0)) if found.get("job_state") == "F" else None

    def delete(self, job: str) -> None:
        self.tool("qdel", job)


ONE_THREAD = ("-e", "OMP_NUM_THREADS=1")


def lab(*, ranks: int = 2) -> Sequence[str]:
    """Options of jobgen for what the nodes here lack: GPUs, modules, many cores."""
    return (
        *("--set", "software.modules=[]", "--set", f"software.venv={sys.prefix}"),
        *("--set", "node.arch=null", "--set", "node.gpu=none"),
        *("--set", f"launch.processes_per_node={ranks}", *ONE_THREAD),
    )
