"""Chains on a real Slurm and a real OpenPBS: a training that goes on in the next job of an array.

Its weights are those of a training without any fault, to the bit, and no two jobs run at once.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.harness import SCRIPTS, until
from tests.cluster.jobs import Desk, PbsDesk
from tests.cluster.test_survival import MI210, NODES, state
from tests.run_trainers import carried, load_file
from tests.test_trainers import program_of

EPOCHS = 60  # each takes a moment, in which a fault can come
WORDS = (str(EPOCHS), "1", "--size", "8192", "--metrics", "metrics.jsonl", "--snapshot", "model.pt")
RUNS = ("--trainer", "regression", "--", *WORDS)
FAILS = "import sys\nprint('again', flush=True)\nsys.exit(3)\n"


def events(folder: Path) -> list[str]:
    """What the state of the chain says, without the times."""
    files = list(folder.glob("jobgen-logs/chain-*[0-9]"))
    lines = files[0].read_text().splitlines() if files else []
    return [line.partition(" ")[2].partition(", progress")[0] for line in lines]


def ends(folder: Path) -> list[str]:
    return [line for line in events(folder) if " began on " not in line]


def epochs(folder: Path) -> list[int]:
    file = folder / "metrics.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    return [json.loads(line)["epoch"] for line in lines if line.endswith("}")]


def output(folder: Path) -> str:
    files = [file for file in folder.iterdir() if re.search(r"\.out$|\.o\d", file.name)]
    return "".join(file.read_text(errors="replace") for file in files)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a training without faults ends with."""
    folder = tmp_path_factory.mktemp("undisturbed")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    words = [*torchrun, str(carried("regression")), *WORDS]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(words, cwd=folder, env=environment, check=True, capture_output=True)
    return state(folder / "model.pt")


def check_weights(folder: Path, wanted: dict[str, Any]) -> None:
    ended = state(folder / "model.pt")
    for name, weights in wanted["model"].items():
        assert weights.equal(ended["model"][name]), name
    assert str(ended["optimizer"]) == str(wanted["optimizer"])
    assert str(ended["random"]) == str(wanted["random"])
    assert epochs(folder) == list(range(EPOCHS))


@dataclass
class Chain:
    """A chain on Slurm: which of its jobs runs, on which node first."""

    desk: Desk
    array: int

    def jobs(self, *states: str) -> list[list[str]]:
        words = ["squeue", "-rh", "-j", str(self.array), "-t", ",".join(states), "-o", "%K %B"]
        return [line.split() for line in self.desk.cluster.run(words).stdout.splitlines()]

    def running(self, further: int) -> tuple[str, str]:
        """The first node and the id of the job that runs, when it has trained some epochs."""
        before = len(epochs(self.desk.folder))
        self.until(lambda: len(epochs(self.desk.folder)) >= before + further)
        ((number, node),) = self.jobs("RUNNING")
        return node, f"{self.array}_{number}"

    def until(self, condition: Callable[[], object], seconds: float = 300) -> None:
        limit = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < limit, (events(self.desk.folder), output(self.desk.folder))
            time.sleep(0.2)

    def until_end(self, number: int) -> str:
        """The event of that number that ends a job."""
        self.until(lambda: len(ends(self.desk.folder)) >= number)
        return ends(self.desk.folder)[number - 1]


@pytest.mark.thorough
def test_a_training_in_five_jobs(desk: Desk, undisturbed: dict[str, Any]) -> None:
    """SIGKILL of the batch script, a lost node, scancel, and a job of a higher tier."""
    cluster, node = desk.cluster, (str(SCRIPTS / "node.sh"), str(desk.cluster.folder))
    words = ("--chain", "9", "-t", "30", *RUNS)
    chain = Chain(desk, desk.submit(*MI210, *words))
    first, _ = chain.running(3)
    cluster.on(first, "pkill", "-KILL", "-f", "slurm_script")
    assert "goes on: it was ended from outside" in chain.until_end(1)
    first, _ = chain.running(3)
    cluster.run([*node, "crash", first])
    assert "goes on" in chain.until_end(2)
    cluster.run([*node, "start", first])
    _, job = chain.running(3)
    cluster.run(["scancel", job])
    assert "goes on: it was ended from outside" in chain.until_end(3)
    chain.running(3)
    nodes = ",".join([*NODES, "smc-r07-09"])
    made = ["scontrol", "create", "PartitionName=urgent", f"Nodes={nodes}"]
    cluster.run([*made, "PriorityTier=9", "State=UP"])
    sent = cluster.sbatch(
        "#!/bin/bash\nsleep 2\n", "-p", "urgent", "-N3", "--exclusive", cwd=desk.folder
    )
    assert "goes on: it was ended from outside" in chain.until_end(4)
    cluster.wait(sent, 120)
    cluster.run(["scontrol", "delete", "PartitionName=urgent"])
    assert chain.until_end(5).endswith(" is done: the program ended by itself, with 0")
    chain.until(lambda: not chain.jobs("RUNNING", "PENDING", "COMPLETING"))
    check_weights(desk.folder, undisturbed)
    assert len(events(desk.folder)) == 10


@pytest.mark.thorough
def test_no_job_begins_while_a_node_that_looks_lost_still_trains(desk: Desk) -> None:
    """Its slurmd is killed, and nothing else: Slurm begins the next job, and the ranks live."""
    program = desk.program("alive.py", ALIVE)
    words = ("--launcher", "node", "--chain", "3", "-t", "30", "--", program)
    chain = Chain(desk, desk.submit(*MI210, "-N", "1", *words))
    chain.until(lambda: (desk.folder / "alive").exists())
    ((_, first),) = chain.jobs("RUNNING")
    desk.cluster.on(first, "pkill", "-KILL", "-x", "slurmd")
    try:
        chain.until(lambda: len(events(desk.folder)) > 2)
        chain.until(lambda: len({line.split()[0] for line in alive(desk.folder)}) > 1)
    finally:
        desk.cluster.run(["scancel", str(chain.array)])
        node = (str(SCRIPTS / "node.sh"), str(desk.cluster.folder))
        desk.cluster.run([*node, "crash", first])
        desk.cluster.run([*node, "start", first])
    lines = [line.split() for line in alive(desk.folder)]
    own = lines[0][0]
    last = max(float(when) for job, when in lines if job == own)
    assert all(float(when) > last for job, when in lines if job != own)


@pytest.mark.thorough
def test_ranks_that_outlive_their_killed_keeper_end_before_the_next_ones_begin(desk: Desk) -> None:
    """Stub and keeper are killed at once, and this Slurm has no cgroups."""
    program = desk.program("alive.py", ALIVE)
    words = ("--launcher", "node", "--chain", "3", "-t", "30", "--", program)
    sent = desk.submit(*MI210, "-N", "1", *words, options=("-w", NODES[0]))
    chain = Chain(desk, sent)
    chain.until(lambda: (desk.folder / "alive").exists())
    desk.cluster.on(NODES[0], "pkill", "-KILL", "-f", "keeper.py")
    try:
        assert " goes on " in chain.until_end(1)
        chain.until(lambda: len({line.split()[0] for line in alive(desk.folder)}) > 1)
    finally:
        desk.cluster.run(["scancel", str(chain.array)])
        desk.cluster.on(NODES[0], "pkill", "-KILL", "-f", "alive.py")
    lines = [line.split() for line in alive(desk.folder)]
    own = lines[0][0]
    last = max(float(when) for job, when in lines if job == own)
    assert all(float(when) > last for job, when in lines if job != own)
    (state_file,) = desk.folder.glob("jobgen-logs/chain-*[0-9]")
    began = re.findall(r"(?m)^(\S+) job 2 began", state_file.read_text())
    assert last > datetime.fromisoformat(began[0]).timestamp()  # it had outlived its job


ALIVE = """
import os, time
while True:
    with open("alive", "a") as file:
        file.write(f"{os.environ['SLURM_JOB_ID']}.{os.getpid()} {time.time()}\\n")
    time.sleep(0.2)
"""


def alive(folder: Path) -> list[str]:
    return [line for line in (folder / "alive").read_text().splitlines() if line.count(" ") == 1]


@pytest.mark.thorough
def test_a_program_that_never_gets_further_stops_after_two(desk: Desk) -> None:
    program = desk.program("fails.py", FAILS)
    words = ("--launcher", "node", "--chain", "5", "-t", "30", "--", program)
    chain = Chain(desk, desk.submit(*MI210, "-N", "1", *words))
    chain.until(lambda: len(ends(desk.folder)) == 2)
    chain.until(lambda: not chain.jobs("RUNNING", "PENDING", "COMPLETING"))
    assert ends(desk.folder) == [
        "job 1 goes on without progress: it failed with status 3",
        "job 2 stopped without progress: it failed with status 3",
    ]
    assert output(desk.folder).count("again") == 2


WARNED = """
import os, signal, sys, time
if os.path.exists("state"):
    sys.exit()
signal.signal(signal.SIGUSR1, lambda *_: (open("state", "w").close(), sys.exit()))
open("ready", "w").close()
time.sleep(300)
"""


def test_a_warned_job_goes_on_and_the_next_one_ends_the_chain(desk: Desk) -> None:
    program = desk.program("warned.py", WARNED)
    words = ("--launcher", "node", "--chain", "5", "-t", "30", "--", program)
    chain = Chain(desk, desk.submit(*MI210, "-N", "1", *words))
    chain.until(lambda: (desk.folder / "ready").exists())
    desk.cluster.run(["scancel", "--batch", "--signal=USR1", f"{chain.array}_1"])
    chain.until(lambda: len(ends(desk.folder)) == 2)
    chain.until(lambda: not chain.jobs("RUNNING", "PENDING", "COMPLETING"))
    assert ends(desk.folder) == [
        "job 1 goes on: the ranks were warned, and ended with 0",
        "job 2 is done: the program ended by itself, with 0",
    ]
    assert "submit again" not in output(desk.folder)


@pytest.mark.thorough
def test_the_program_of_the_manual_goes_on_where_it_was_warned(desk: Desk) -> None:
    """Its two ranks, on two nodes, see the warning at other moments, and stop at one step."""
    text = program_of("surviving.md").replace("STEPS, SNAPSHOT = 1000,", "STEPS, SNAPSHOT = 10**9,")
    program = desk.program("train.py", text)
    chain = Chain(desk, desk.submit(*MI210, "--chain", "3", "-t", "30", "--", program))
    chain.until(lambda: desk.cluster.on(NODES[1], "pgrep", "-f", "python.* train.py").stdout)
    time.sleep(10)  # their imports and handlers
    desk.cluster.run(["scancel", "--batch", "--signal=USR1", f"{chain.array}_1"])
    assert chain.until_end(1) == "job 1 goes on: the ranks were warned, and ended with 0"
    step = load_file(desk.folder / "snapshot.pt")["step"]
    desk.program("train.py", text.replace("10**9", f"{step} + 5"))
    assert chain.until_end(2) == "job 2 is done: the program ended by itself, with 0"
    assert load_file(desk.folder / "snapshot.pt")["step"] == step + 5
    chain.until(lambda: not chain.jobs("RUNNING", "PENDING", "COMPLETING"))
    saved = re.findall(r"saved after step (\d+)", output(desk.folder))
    assert sorted(map(int, saved)) == [step, step + 5]


def test_a_name_error_stops_at_once(desk: Desk) -> None:
    program = desk.program("fails.py", "print(undefined)\n")
    chain = Chain(desk, desk.submit(*MI210, "--chain", "5", "-t", "30", "--", program))
    chain.until(lambda: ends(desk.folder))
    chain.until(lambda: not chain.jobs("RUNNING", "PENDING", "COMPLETING"))
    assert ends(desk.folder) == ["job 1 stopped: the program failed by its own fault: NameError"]
    lines = output(desk.folder).splitlines()
    assert lines[-1] == f"jobgen: chain of 5 jobs: {ends(desk.folder)[0]}"


@pytest.mark.thorough
def test_a_training_in_five_jobs_of_pbs(real: PbsDesk, undisturbed: dict[str, Any]) -> None:
    """SIGKILL of the batch script, a killed torchrun, qdel of one job, qrerun of another."""
    site, folder = real.site, real.folder
    words = ("-N", "2", "--chain", "9", "-t", "2h", *RUNS)
    array = real.submit(*words)

    def further(count: int) -> str:
        """The number of the job that runs, when it has trained some epochs."""
        before = len(epochs(folder))
        until(lambda: len(epochs(folder)) >= before + count, 300)
        return str(re.findall(r"job (\d+) began", "\n".join(events(folder)))[-1])

    def after(number: int) -> str:
        until(lambda: len(ends(folder)) >= number, 300)
        return ends(folder)[number - 1]

    further(3)
    site.kill("blancapeak003", r"bash .*\.SC")
    assert "goes on: it was ended from outside" in after(1)
    further(3)
    site.kill("blancapeak004", r"torch\.distributed\.run")
    assert "goes on: it failed with status" in after(2)
    site.delete(array.replace("[]", f"[{further(3)}]"))
    assert "goes on: it was ended from outside" in after(3)
    rerun = str(site.folder / "bin/qrerun")  # type: ignore[attr-defined]
    site.cluster.run([rerun, array.replace("[]", f"[{further(3)}]")])
    assert "goes on: it " in after(4)
    assert after(5).endswith(" is done: the program ended by itself, with 0")
    until(lambda: site.ended(array) is not None)
    check_weights(folder, undisturbed)
