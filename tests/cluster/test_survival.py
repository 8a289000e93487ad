"""Faults that a training survives: its weights are those of a run without them, to the bit.

`make test-all` tries each once; `pytest --faults 3` tries each three times, with other seeds and
moments. `make test` has a run that is stopped and goes on, on this machine: tests/test_trainers.py.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.harness import Finished
from tests.cluster.jobs import ON_CPU, Desk
from tests.run_trainers import carried

EPOCHS = 24
LATEST = 10  # faults come before; on a busy machine, a kill takes as long as some epochs
NODES = ("smc-r07-07", "smc-r07-08")
ON_NODES = f"--directive=--nodelist={','.join(NODES)}"  # Slurm may still wait for one of them
MI210 = ("--profile", "mi210", *ON_CPU, "-N", "2", "-G", "1")
RANK = r"python3 -u .*/regression\.py"
AGENT = r"torch\.distributed\.run"


def arguments(seed: int, every: int = 1, snapshot: Path = Path("model.pt")) -> tuple[str, ...]:
    words = (str(EPOCHS), str(every), "--size", "8192", "--seed", str(seed))
    return (*words, "--metrics", "metrics.jsonl", "--snapshot", str(snapshot))


@dataclass
class Training:
    """A training on two nodes, and what it leaves in its folder."""

    desk: Desk
    seed: int
    moments: random.Random
    snapshot: Path
    job: int = 0

    def submit(self, *words: str, every: int = 1) -> None:
        """Begin to train, or go on."""
        program = ("--trainer", "regression", "--", *arguments(self.seed, every, self.snapshot))
        self.job = self.desk.submit(*MI210, *words, *program)

    def until(self, condition: Callable[[], object], timeout: float = 180) -> None:
        limit = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < limit, self.output()
            time.sleep(0.1)

    def reach(self, *between: int) -> None:
        """Wait for an epoch to end, and for a moment in the next."""
        epoch = self.moments.randint(*(between or (1, LATEST)))
        self.until(lambda: epoch in self.epochs())
        time.sleep(self.moments.uniform(0, 0.3))

    def epochs(self) -> list[int]:
        """The epochs in the metrics."""
        file = self.desk.folder / "metrics.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        return [json.loads(line)["epoch"] for line in lines if line.endswith("}")]

    def output(self) -> str:
        """What its jobs have printed."""
        files = sorted(self.desk.folder.glob("*.out"))
        return "".join(file.read_text(errors="replace") for file in files)

    def on(self, node: int, *argv: str) -> str:
        """Run a command on a node; what it prints."""
        done = self.desk.cluster.on(NODES[node], *argv)
        assert done.returncode == 0, (argv, done.stderr, self.output())
        return done.stdout

    def kill(self, node: int, pattern: str) -> None:
        self.on(node, "pkill", "-KILL", "-f", pattern)

    def wait(self) -> Finished:
        return self.desk.cluster.wait(self.job, 300)


def killed(node: int) -> Callable[[Training], None]:
    """A rank of a node, and later the other node's torchrun; there is a snapshot by then."""

    def fault(training: Training) -> None:
        every = training.moments.choice([1, 3])
        training.submit("--max-restarts", "2", every=every)
        training.reach(every, 4)
        training.kill(node, RANK)
        training.until(lambda: training.output().count("Resuming from") == 1)
        training.reach(7, LATEST)
        training.kill(1 - node, AGENT)
        training.until(lambda: training.output().count("Resuming from") == 2)

    return fault


def node_lost(training: Training) -> None:
    """Its first process is killed, and all others with it; the job goes on with another."""
    lose(training, training.moments.choice(NODES), "--requeue")


def spare_taken(training: Training) -> None:
    """A node with ranks is lost, not the first; the job goes on with the one that stood by."""
    training.submit("-N", "2+1", "--max-restarts", "1")
    training.reach()
    used = set(re.findall(r"(?m)^(smc-r07-0\d) rank \d: ", training.output()))
    crash(training, max(used))
    assert "Restarts=0" in training.desk.cluster.run(["scontrol", "show", "job"]).stdout


def lose(training: Training, lost: str, *words: str) -> None:
    """Submit a job with these options, and crash one of its nodes."""
    training.submit(*words)
    training.reach()
    crash(training, lost)


def crash(training: Training, lost: str) -> None:
    training.desk.cluster.crash_node(lost)
    try:
        training.until(lambda: "Resuming from" in training.output())
        training.wait()
    finally:
        training.desk.cluster.start_node(lost)


def requeued(training: Training) -> None:
    training.submit("--requeue", every=5)
    training.reach()
    training.desk.cluster.run(["scontrol", "requeue", str(training.job)])
    training.until(lambda: "Resuming from" in training.output())
    assert "Stopped early" in training.output()


def walltime(training: Training) -> None:
    """Slurm warns, the ranks save, and the job goes back into the queue by itself.

    The first time scancel sends what Slurm would, to the batch shell alone; then Slurm does.
    """
    slurm = training.seed > 0
    words = ("-t", "3", "--signal", "95") if slurm else ("-t", "60")
    training.submit("--requeue", *words, every=EPOCHS)
    training.reach()
    # A rank stands still until the order is there: Slurm looks at the time only now and then.
    pid = training.on(1, "pgrep", "-f", RANK).strip()
    training.on(1, "kill", "-STOP", pid)
    if not slurm:
        words = ("scancel", "--batch", "--signal=USR1", str(training.job))
        training.desk.cluster.run(words)
    training.until(lambda: list(training.desk.folder.glob("jobgen-logs/*/orders/warn")), 150)
    training.on(1, "kill", "-CONT", pid)
    training.until(lambda: "Resuming from" in training.output())
    assert "Stopped early" in training.output()


def waiting(stream: int, size: int) -> bytes:
    """What can be read from a pipe now."""
    with suppress(BlockingIOError):
        return os.read(stream, size)
    return b""


def killed_while_saving(training: Training) -> None:
    """The snapshot goes into a pipe, so that the moment is known: some of it is written."""
    training.submit("--max-restarts", "1")
    training.reach()
    pipe = Path(f"{training.snapshot}.tmp")
    while not pipe.is_fifo():
        with suppress(FileExistsError):
            os.mkfifo(pipe)
    stream = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(stream, fcntl.F_SETPIPE_SZ, 4096)  # less than a snapshot: the rank has to wait
    received = bytearray()
    part = training.moments.randint(1, 8000)
    training.until(lambda: len(received) >= part or received.extend(waiting(stream, part)))
    training.kill(0, RANK)
    os.close(stream)
    pipe.unlink()


def full_disk(training: Training) -> None:
    """No snapshot fits for a while; in that time a rank is killed, too."""
    disk = training.desk.folder / "disk"
    disk.mkdir()
    usual, training.snapshot = training.snapshot, disk / "model.pt"
    training.on(0, "mount", "-t", "tmpfs", "-o", "size=64k", "disk", str(disk))
    training.submit("--max-restarts", "1")
    training.reach(1, 4)
    fill = f"for n in 1 2 3 4 5 6 7 8; do cat /dev/zero >> {disk}/filler || true; sleep 0.1; done"
    training.on(0, "sh", "-c", fill)
    training.until(lambda: "cannot be saved, and stays as it was" in training.output())
    training.kill(1, RANK)
    training.until(lambda: "Resuming from" in training.output())
    training.on(0, "rm", f"{disk}/filler")
    training.wait()
    training.on(0, "cp", str(training.snapshot), str(usual))
    training.snapshot = usual


def truncated(training: Training) -> None:
    """A job is cancelled, and what it saved then gets damaged."""
    training.submit()
    training.reach()
    training.desk.cluster.run(["scancel", str(training.job)])
    training.wait()
    assert "Stopped early" in training.output()
    size = training.snapshot.stat().st_size
    os.truncate(training.snapshot, training.moments.randint(0, size - 1))
    training.submit()
    training.until(lambda: f"{training.snapshot} is damaged: resuming from" in training.output())


FAULTS = {
    "SIGKILL of the first node's rank, then of the other's torchrun": killed(0),
    "SIGKILL of the other node's rank, then of the first's torchrun": killed(1),
    "a node lost": node_lost,
    "a node lost, and a spare": spare_taken,
    "scontrol requeue": requeued,
    "the walltime's warning": walltime,
    "SIGKILL while a snapshot is written": killed_while_saving,
    "a full disk, and SIGKILL meanwhile": full_disk,
    "scancel, and a truncated snapshot": truncated,
}


def state(snapshot: Path) -> dict[str, Any]:
    import torch

    found: dict[str, Any] = torch.load(snapshot, weights_only=True)
    return found


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], dict[str, Any]]:
    """What a run without faults ends with, for a seed: one run for all of the tests' processes."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def run(seed: int) -> dict[str, Any]:
        folder = shared / f"undisturbed-{seed}"
        folder.mkdir(exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "model.pt").exists():
                train(seed, folder)
        return state(folder / "model.pt")

    def train(seed: int, folder: Path) -> None:
        trainer = str(carried("regression"))
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        words = [*torchrun, "--nproc-per-node=2", trainer, *arguments(seed)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        subprocess.run(words, cwd=folder, env=environment, check=True, capture_output=True)

    return run


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "fault" not in metafunc.fixturenames:
        return
    runs = metafunc.config.getoption("--faults")
    tried = [(name, number) for number in range(runs) for name in FAULTS if number == 0 or runs > 2]
    metafunc.parametrize(
        ("fault", "number"),
        [
            pytest.param(name, number, id=f"{name}, {number}", marks=pytest.mark.thorough)
            for name, number in tried
        ],
    )


def test_fault(
    desk: Desk, undisturbed: Callable[[int], dict[str, Any]], fault: str, number: int
) -> None:
    moments = random.Random(f"{fault} {number}")
    training = Training(desk, number, moments, desk.folder / "model.pt")
    FAULTS[fault](training)
    done = training.wait()
    assert done.state == "COMPLETED", done.output
    assert training.epochs() == list(range(EPOCHS)), done.output
    assert "Resuming from" in training.output()
    ended, wanted = state(training.snapshot), undisturbed(number)
    for name, weights in wanted["model"].items():
        assert weights.equal(ended["model"][name]), name
    assert str(ended["optimizer"]) == str(wanted["optimizer"])
    assert ended["scheduler"] == wanted["scheduler"]
    assert str(ended["random"]) == str(wanted["random"])


@pytest.mark.thorough
def test_elastic(desk: Desk) -> None:
    """Three nodes, of which one is lost: the others go on, and the job ends well."""
    training = Training(desk, 0, random.Random(0), desk.folder / "model.pt")
    training.submit("-N", "2:3", "--max-restarts", "2")
    training.reach(1, 3)
    desk.cluster.crash_node("smc-r07-09")
    try:
        done = training.wait()
    finally:
        desk.cluster.start_node("smc-r07-09")
    assert training.epochs() == list(range(EPOCHS)), done.output
    assert "Resuming from" in done.output
    assert (done.state, done.exit_code) == ("COMPLETED", 0), done.output


@pytest.mark.thorough
def test_a_signal_that_reaches_the_task_alone(desk: Desk) -> None:
    """With proctrack/cgroup Slurm signals no grandchildren: the task is torchrun itself."""
    training = Training(desk, 0, random.Random(0), desk.folder / "model.pt")
    training.submit(ON_NODES, every=EPOCHS)
    training.until(lambda: len(training.epochs()) > 1)
    step = rf"slurmstepd: \[{training.job}\.1\]"
    pids = [training.on(node, "pgrep", "-f", step).strip() for node in range(2)]
    for node, pid in enumerate(pids):
        training.on(node, "pkill", "-TERM", "-P", pid)
    done = training.wait()
    assert "Stopped early" in done.output
    assert done.output.count("death signal, shutting down") == 2, done.output


@pytest.mark.parametrize("is_early", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_the_warning_reaches_every_rank(desk: Desk, is_early: bool) -> None:
    """Slurm warns the batch shell; also ranks that still import torch get it, when they can."""
    training = Training(desk, 0, random.Random(0), desk.folder / "model.pt")
    training.submit("--signal", "60", ON_NODES, every=EPOCHS)
    if not is_early:
        training.until(lambda: len(training.epochs()) > 1)
    for node in range(2):
        running = ("pgrep", "-f", AGENT)
        training.until(lambda n=node, r=running: desk.cluster.on(NODES[n], *r).stdout)
    desk.cluster.run(["scancel", "--batch", "--signal=USR1", str(training.job)])
    done = training.wait()
    assert done.state == "COMPLETED", done.output
    assert "Stopped early" in done.output
    assert done.output.splitlines()[-1].endswith("submit again to continue")
    assert len(training.epochs()) < 2 or not is_early
