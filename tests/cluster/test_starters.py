"""Slurm without srun: `launch.starter` ssh and mpirun, whose processes jobgen has to end itself."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cluster.harness import Cluster, Finished
from tests.cluster.jobs import ON_CPU, PATH, Desk, generate, job_folders
from tests.cluster.test_mpiexec import HANDLER, mpi_module, without_mpi
from tests.cluster.test_stage import DISK, imported, make_venv

pytestmark = pytest.mark.thorough

NODES = ("dgx01", "dgx02")
ALL_TOGETHER = re.compile(r"All (\d+) ranks took one DDP step together")
# What a rank does, by its first argument: it crashes, or hangs and takes no TERM.
RANKS = """
import os, signal, sys, time
if sys.argv[1] == "hang":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.stdout.write(f"up {os.environ['RANK']}\\n")
if sys.argv[1] == "crash" and os.environ["RANK"] == "3":
    time.sleep(1)
    sys.exit(3)
time.sleep(1000)
"""


@dataclass(frozen=True)
class Site:
    """A cluster whose users start nodes by `starter`."""

    desk: Desk
    starter: str
    folder: Path

    def submit(self, *words: str, path: str = "") -> int:
        own = ("--set", f"launch.starter={self.starter}", "--set", "launch.processes_per_node=2")
        script = generate("sbatch", "--profile", "dgx-a100", *ON_CPU, *own, *words, cwd=self.folder)
        if path:  # a login shell has another one
            begin = "\nset -euo pipefail\n"
            script = script.replace(begin, f"{begin}PATH={path}\n", 1)
        path = f"{self.folder}/bin:{PATH}"
        return self.desk.cluster.sbatch(script, cwd=self.folder, env={"PATH": path})

    def run(self, *words: str, path: str = "") -> Finished:
        return self.desk.cluster.wait(self.submit(*words, path=path), 120)

    def started(self, *words: str) -> int:
        """A job whose four ranks are up; its id."""
        job = self.submit(*words)
        self.await_ranks(job, 4)
        return job

    def await_ranks(self, job: int, number: int) -> None:
        """Until `number` ranks are up, those of earlier starts among them."""
        limit = time.monotonic() + 120
        while len(re.findall(r"up \d", self.output(job))) < number:
            assert time.monotonic() < limit, self.output(job)
            time.sleep(0.2)

    def output(self, job: int) -> str:
        files = list(self.folder.glob(f"*{job}.out"))
        return files[0].read_text(errors="replace") if files else ""

    def pids(self, node: str, pattern: str) -> list[str]:
        found = self.desk.cluster.on(node, "ps", "-wweo", "pid,args").stdout.splitlines()
        return [line.split()[0] for line in found if re.search(pattern, line)]

    def leftovers(self) -> list[str]:
        """Processes of jobs on the nodes; after 45 s, when Slurm has sent KILL, none should be."""
        pattern = r"\.py|torch\.distributed|job\.sh|orted"
        limit = time.monotonic() + 45
        while found := [pid for node in NODES for pid in self.pids(node, pattern)]:
            if time.monotonic() > limit:
                break
            time.sleep(0.5)
        return found


@pytest.fixture(params=["ssh", "mpirun"])
def site(request: pytest.FixtureRequest, desk: Desk) -> Iterator[Site]:
    """Its tools are in the folder's `bin`: ssh with keys of its own, or OpenMPI's mpirun."""
    folder = desk.folder
    (folder / "bin").mkdir()
    made = Site(desk, request.param, folder)
    end = keys(desk.cluster, folder) if request.param == "ssh" else mpirun(folder)
    yield made
    leftovers = made.leftovers()
    for command in end:
        desk.cluster.on(*command)
    assert leftovers == []


def mpirun(folder: Path) -> list[tuple[str, ...]]:
    if not (found := shutil.which("mpirun.openmpi")):
        pytest.skip("OpenMPI's mpirun is not installed")
    root = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
    # Not by its path, by which it would know where its daemon is.
    tool(folder / "bin/mpirun", f'PATH=$PATH:/usr/bin exec env {root} {Path(found).name} "$@"')
    return []


def tool(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def keys(cluster: Cluster, folder: Path) -> list[tuple[str, ...]]:
    """An sshd on each node, and an ssh that may go there; the commands that end the sshds."""
    if not (shutil.which("ssh") and shutil.which("sshd", path="/usr/sbin")):
        pytest.skip("ssh and sshd are not installed")
    own = folder / "ssh"
    own.mkdir(mode=0o700)
    for name in ("user", "host"):
        key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(own / name)]
        subprocess.run(key, check=True)
    options = f"-f /dev/null -h {own}/host -o UsePAM=no -o StrictModes=no -o PermitRootLogin=yes"
    options += f" -o AuthorizedKeysFile={own}/user.pub"
    for node in NODES:
        line = f"mkdir -p /run/sshd && exec /usr/sbin/sshd {options} -o PidFile={own}/{node}.pid"
        done = cluster.on(node, "sh", "-c", line)
        assert done.returncode == 0, done.stderr
    unknown = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
    tool(folder / "bin/ssh", f'exec /usr/bin/ssh -F none -i {own}/user {unknown} "$@"')
    return [(node, "sh", "-c", f"kill $(cat {own}/{node}.pid)") for node in NODES]


@pytest.mark.parametrize("plain", [(), ("--plain",)], ids=["", "plain"])
def test_ddp(site: Site, plain: tuple[str, ...]) -> None:
    done = site.run(*plain)
    assert done.exit_code == 0, done.output
    assert ALL_TOGETHER.search(done.output)[1] == "4"  # type: ignore[index]
    for node in NODES:
        assert done.output.count(f"(node {node}, device cpu, backend gloo)") == 2
    assert not job_folders(site.folder)


def test_an_mpi_that_a_module_has_and_none(site: Site) -> None:
    if site.starter == "ssh":
        pytest.skip("it is no MPI")
    path = f"{Path(sys.executable).parent}:{without_mpi(site.folder)}"
    program = site.desk.program(
        "p.py", "import shutil\nprint(f'has {shutil.which(\"mpirun\")}\\n', end='')\n"
    )
    done = site.run(*mpi_module(site.folder), "--", program, path=path)
    assert done.exit_code == 0, done.output
    assert done.output.count(f"has {site.folder}/mpi/mpirun\n") == 4
    done = site.run("--", program, path=path)
    assert done.exit_code == 1
    last = done.output.splitlines()[-1]
    assert last.startswith("jobgen: dgx01: no mpirun of an MPI on PATH after software(): add the")


def test_a_rank_crashes(site: Site) -> None:
    done = site.run("--", site.desk.program("ranks.py", RANKS), "crash")
    assert done.exit_code == 3, done.output
    node = r"^jobgen: dgx0\d: ended with status 1$"
    assert re.search(node, done.output, re.MULTILINE), done.output
    wanted = "jobgen: rank 3 on dgx02 failed first: ended with status 3: "
    assert done.output.splitlines()[-1].startswith(wanted), done.output


def test_scancel(site: Site) -> None:
    job = site.started("--", site.desk.program("ranks.py", RANKS), "hang")
    site.desk.cluster.run(["scancel", str(job)])
    done = site.desk.cluster.wait(job, 180)
    assert done.state == "CANCELLED", done
    assert site.leftovers() == []


def test_the_batch_script_is_killed(site: Site) -> None:
    """Nobody orders the nodes to stop: they notice that what has started them is gone."""
    job = site.started("--", site.desk.program("ranks.py", RANKS), "hang")
    site.desk.cluster.run(["scancel", "--batch", "--signal=KILL", str(job)])
    site.desk.cluster.wait(job, 180)
    assert site.leftovers() == []


def test_a_torchrun_is_killed(site: Site) -> None:
    """All nodes start again, once."""
    job = site.started("--max-restarts", "1", "--", site.desk.program("ranks.py", RANKS), "hang")
    for start in (1, 2):
        site.await_ranks(job, 4 * start)
        found = site.pids("dgx02", r"torch\.distributed\.run")
        assert len(found) == 1, site.output(job)
        site.desk.cluster.on("dgx02", "kill", "-KILL", *found)
    done = site.desk.cluster.wait(job, 120)
    assert done.exit_code == 137, done.output
    assert done.output.count("all nodes start again, restart 1 of 1") == 1


def test_the_warning_reaches_the_ranks(site: Site) -> None:
    words = ("-t", "10", "--signal", "60", "--", site.desk.program("handler.py", HANDLER))
    job = site.started(*words)
    site.desk.cluster.run(["scancel", "--batch", "--signal=USR1", str(job)])
    done = site.desk.cluster.wait(job, 180)
    assert done.exit_code == 0, done.output
    assert sorted(re.findall(r"saved (\d)", done.output)) == ["0", "1", "2", "3"]
    assert done.output.endswith("the ranks have ended: submit again to continue\n")


def test_a_node_that_is_not_ready(site: Site) -> None:
    failing = 'software.commands=["[[ $(hostname) != dgx02 ]]"]'
    done = site.run("--set", failing)
    assert done.exit_code == 1
    assert "jobgen: dgx02: its set-up stopped at: no message: see " in done.output


def test_a_copied_environment(site: Site, tmp_path_factory: pytest.TempPathFactory) -> None:
    """sbcast is Slurm's, whatever starts the nodes."""
    venv = make_venv(tmp_path_factory.mktemp("shared") / "env", with_torch=True)
    (site.folder / "show.py").write_text(
        "import package\nprint(f'FROM {package.__file__}\\n', end='')\n"
    )
    done = site.run(
        *("-N", "2", "--set", f"software.venv={venv}", "--set", "software.stage=venv"),
        *("--set", f"software.stage_to={DISK}", "--", "show.py"),
    )
    assert done.state == "COMPLETED", done.output
    assert len(imported(done.output)) == 4
    assert all(path.startswith(f"{DISK}/jobgen-0/") for path in imported(done.output))
