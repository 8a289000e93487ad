"""docs/sweeps.md on a real Slurm: studies of Optuna whose jobs and whose program are killed."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from tests.cluster.harness import until
from tests.cluster.jobs import PATH, Desk
from tests.test_docs import blocks_of

optuna = pytest.importorskip("optuna", "4", reason="no Optuna: pip install 'optuna>=4'")

ROOT = Path(__file__).parents[2]
PAGE = {block.words: block.content for block in blocks_of(ROOT / "docs/sweeps.md")}
SETTINGS = "TRIALS, AT_ONCE, ATTEMPTS = 200, 20, 3"
# What the nodes here lack; several jobs share them.
PROFILE = """
extends: mi210
node: {cpus: 8, gpus: 0, gpu: none}
request: {exclusive: false, memory: 1G, gpu_option: null}
software: {container: null}
launch: {launcher: torchrun, processes_per_node: 1}
"""
# A program without torch, with the arguments and the files of the page's.
QUICK = """
import os, sys, time
from pathlib import Path

lr, folder, rank = float(sys.argv[2]), Path(sys.argv[4]), int(os.environ["RANK"])
with open(folder / f"began-{rank}", "a") as file:
    print(os.environ["SLURM_JOB_ID"], os.environ.get("SLURM_RESTART_COUNT", "0"), lr, file=file)
time.sleep(1)
if rank == 0:
    (folder / "objective.txt").write_text(f"{lr}\\n")
"""
# Half of the trials report what is worth nothing, and would go on for long.
PRUNED = """
import os, sys, time
from pathlib import Path

folder, rank = Path(sys.argv[4]), int(os.environ["RANK"])
if rank == 0 and int(folder.name) % 2:
    (folder / "reports.txt").write_text("100\\n")
    time.sleep(600)
if rank == 0:
    (folder / "reports.txt").write_text("1\\n")
    (folder / "objective.txt").write_text("1\\n")
"""


class Study:
    """tune.py of the page, in a folder on the login machine."""

    def __init__(self, desk: Desk, trials: int, at_once: int, program: str = "") -> None:
        self.desk = desk
        tune = PAGE["tune.py"].replace(
            SETTINGS, SETTINGS.replace("200, 20", f"{trials}, {at_once}")
        )
        desk.program("tune.py", tune.replace("timeout=10", "timeout=2"))
        desk.program("train.py", program or PAGE["train.py"])
        profile = PROFILE.replace("torchrun", "srun") if program else PROFILE
        desk.program("lab.yaml", profile)

    def start(self, nodes: int = 2) -> None:
        words = ["sh", "-c", 'echo $$ > pid; exec "$@"', "sh"]
        words += [sys.executable, "-W", "error::UserWarning", "tune.py", "lab.yaml", str(nodes)]
        cluster, folder = self.desk.cluster, self.desk.folder
        self.process = subprocess.Popen(
            cluster.command(words), cwd=folder, env=cluster.environment({"PATH": PATH}),
            stdout=subprocess.DEVNULL, stderr=(folder / "errors").open("a"),
        )  # fmt: skip

    def kill(self, name: str = "KILL") -> None:
        self.desk.cluster.run(["kill", f"-{name}", (self.desk.folder / "pid").read_text().strip()])
        self.process.wait()

    def end(self, timeout: float = 120) -> None:
        assert self.process.wait(timeout) == 0, (self.desk.folder / "errors").read_text()

    @property
    def trials(self) -> list[Any]:
        from optuna.storages.journal import JournalFileBackend, JournalStorage

        storage = JournalStorage(JournalFileBackend(str(self.desk.folder / "sweep.journal")))
        return list(optuna.load_study(study_name="sweep", storage=storage).trials)

    def running(self) -> list[tuple[str, str]]:
        """The id and the name of each job that runs."""
        shown = self.desk.cluster.run(["squeue", "-h", "-t", "R", "-o", "%i %j"]).stdout
        pairs = (line.split() for line in shown.splitlines())
        return [(job, name) for job, name in pairs if name.startswith("sweep-")]

    def jobs(self) -> dict[str, list[dict[str, Any]]]:
        """The jobs of each trial, by its number; no two have one name."""
        words = [sys.executable, "-m", "jobgen", "runs", "--json"]
        done = self.desk.cluster.run(words, cwd=self.desk.folder, env={"PATH": PATH})
        runs = sorted(json.loads(done.stdout), key=lambda run: int(run["job"]))
        names = [run["name"] for run in runs]
        assert len({*names}) == len(names), names
        found: dict[str, list[dict[str, Any]]] = {}
        for run in runs:
            found.setdefault(run["name"].split("-")[1], []).append(run)
        return found

    def check(self, count: int) -> None:
        """No trial is lost, and none was run twice."""
        trials, jobs = self.trials, self.jobs()
        assert len(trials) == len(jobs) == count
        shown = self.desk.cluster.run(["squeue", "-h", "-t", "all", "-o", "%i %Z"]).stdout
        ids = [
            job
            for job, place in map(str.split, shown.splitlines())
            if place == str(self.desk.folder)
        ]
        assert {*ids} == {run["job"] for own in jobs.values() for run in own}
        for trial in trials:
            own = jobs[str(trial.number)]
            states = [run["state"] for run in own]
            assert [run["name"] for run in own] == [
                f"sweep-{trial.number}-{attempt}" for attempt in range(len(own))
            ]
            for earlier, later in pairwise(own):
                assert earlier["state"] != "ok"
                assert not (earlier["end"] and later["begin"]) or earlier["end"] <= later["begin"]
            if trial.state.name == "COMPLETE":
                assert states[-1] == "ok"
                assert trial.value == trial.params["lr"]
            else:  # each time, somebody killed it
                assert (trial.state.name, len(own), states.count("ok")) == ("FAIL", 3, 0)
            for rank in range(2):
                file = self.desk.folder / f"sweep/{trial.number}/began-{rank}"
                began = file.read_text().splitlines() if file.exists() else []
                assert len(began) == len({*began})
                assert {float(line.split()[2]) for line in began} <= {trial.params["lr"]}


@pytest.fixture
def clean(desk: Desk) -> Iterator[Desk]:
    """A folder to submit from, the jobs of which end with the test."""
    yield desk
    desk.cluster.run(["scancel", "--user=root"])


def kill_a_rank(desk: Desk, name: str) -> None:
    number = name.split("-")[1]
    desk.cluster.run(["pkill", "-9", "-f", f"train.py .*sweep/{number}$"])


def test_the_study_of_the_page(clean: Desk) -> None:
    """With torch, on two nodes: all ranks have the values that were asked for once."""
    study = Study(clean, 2, 2)
    study.start()
    study.end(240)
    for trial in study.trials:
        assert trial.value == pytest.approx((trial.params["lr"] - 0.1) ** 2 + 0.01)
        assert len(trial.intermediate_values) == 10
        (job,) = study.jobs()[str(trial.number)]
        assert (job["state"], len(job["nodes"])) == ("ok", 2)
        assert f"train.py --lr {trial.params['lr']} " in job["command"]


@pytest.mark.thorough
def test_the_page_on_a_laptop(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PAGE["train.py"])
    (tmp_path / "tune.py").write_text(PAGE["tune.py"].replace(" = 200,", " = 1,"))
    words = [sys.executable, "tune.py", "local", "2"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float((tmp_path / "sweep/0/objective.txt").read_text()) > 0


def test_nothing_is_lost_and_nothing_runs_twice(clean: Desk) -> None:
    study = Study(clean, 8, 4, QUICK)
    study.start()
    until(study.running, 60)
    job, _ = study.running()[0]
    study.kill()
    clean.cluster.run(["scancel", job])
    study.start()
    until(lambda: len(study.running()) > 1, 60)
    kill_a_rank(clean, study.running()[-1][1])
    study.kill("INT")
    study.start()
    study.end()
    study.check(8)


def test_a_trial_whose_program_raised_an_exception_has_failed(clean: Desk) -> None:
    study = Study(clean, 1, 1, "raise ValueError('a bad value')\n")
    study.start()
    study.end()
    assert [trial.state.name for trial in study.trials] == ["FAIL"]
    assert len(study.jobs()["0"]) == 1


def test_what_sbatch_refuses_ends_the_program_and_is_submitted_later(clean: Desk) -> None:
    study = Study(clean, 6, 2, QUICK)
    profile = (clean.folder / "lab.yaml").read_text()
    clean.program("lab.yaml", f"partition: nowhere\n{profile}")
    study.start(1)
    assert study.process.wait(60) == 1
    assert "invalid partition specified: nowhere" in (clean.folder / "errors").read_text()
    assert len(study.trials) < 6
    clean.program("lab.yaml", profile)
    study.start(1)
    study.end()
    study.check(6)


@pytest.mark.thorough
def test_a_study_of_200_trials_of_which_many_are_killed(clean: Desk) -> None:
    study, chance = Study(clean, 200, 20, QUICK), random.Random(34)
    study.start()
    for node in ("smc-r07-08", "smc-r07-07"):  # Slurm submits the jobs of the second again
        kill_at_random(study, chance, 45)
        clean.cluster.crash_node(node)
        kill_at_random(study, chance, 30)
        clean.cluster.start_node(node)
    kill_at_random(study, chance, 3600)
    study.end()
    study.check(200)
    states = [run["state"] for own in study.jobs().values() for run in own]
    assert {"ok", "failed 137", "ended from outside"} <= {*states}
    assert len(states) > 220  # killed, and tried again


def kill_at_random(study: Study, chance: random.Random, seconds: float) -> None:
    """Kill jobs, ranks and the program itself, as long as it runs."""
    limit = time.monotonic() + seconds
    while study.process.poll() is None and time.monotonic() < limit:
        time.sleep(chance.uniform(0.2, 2))
        if not (running := study.running()):  # Optuna may wait for a lock of one that was killed
            continue
        job, name = chance.choice(running)
        fault = chance.choice(["scancel", "scancel", "rank", "rank", "tune"])
        if fault == "scancel":
            study.desk.cluster.run(["scancel", job])
        elif fault == "rank":
            kill_a_rank(study.desk, name)
        else:
            study.kill()
            study.start()


@pytest.mark.thorough
def test_pruning_ends_the_job_and_frees_its_nodes(clean: Desk) -> None:
    study = Study(clean, 8, 2, PRUNED)
    tune = (clean.folder / "tune.py").read_text()
    pruner = "    pruner=optuna.pruners.MedianPruner(n_startup_trials=1),\n    load_if_exists"
    clean.program("tune.py", tune.replace("    load_if_exists", pruner))
    study.start(1)
    study.end()
    states = [trial.state.name for trial in study.trials]
    assert states == ["COMPLETE", "PRUNED"] * 4
    queue = clean.cluster.run(["squeue", "-h", "-o", "%j %N"]).stdout
    assert "sweep-" not in queue
    for number, own in study.jobs().items():
        (job,) = own
        assert job["state"] == ("ended from outside" if int(number) % 2 else "ok")


# ---- W&B, offline ----


@pytest.mark.thorough
def test_each_trial_is_one_run_of_wandb(clean: Desk) -> None:
    pytest.importorskip("wandb", reason="no W&B: pip install wandb")
    study = Study(clean, 1, 1, PAGE["train_wandb.py"])
    more = next(text for words, text in PAGE.items() if words.startswith("lines of tune.py"))
    line = "        job = jobgen.submit(PROFILE, words, nodes=NODES, once=name)\n"
    before, found, after = (clean.folder / "tune.py").read_text().partition(line)
    assert found
    clean.program("tune.py", f"{before}{indent(more, ' ' * 8)}{after}")
    study.start()
    study.end(240)
    for trial in study.trials:
        (file,) = (clean.folder / "sweep").glob(f"{trial.number}/wandb/offline-run-*/run-*.wandb")
        assert trial.state.name == "COMPLETE"
        assert file.name == f"run-sweep-{trial.number}.wandb"
        (run, *_), steps = records(file)
        assert (run.run_group, run.run_id) == ("sweep", f"sweep-{trial.number}")
        assert steps == 10


def records(file: Path) -> tuple[list[Any], int]:
    """The descriptions of runs in a small file of W&B, and the number of steps."""
    from wandb.proto import wandb_internal_pb2

    data, at, runs, steps = file.read_bytes(), 7, [], 0
    while at < len(data):
        size = int.from_bytes(data[at + 4 : at + 6], "little")
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data[at + 7 : at + 7 + size])
        kind = record.WhichOneof("record_type")
        runs += [record.run] if kind == "run" else []
        steps += kind == "history"
        at += 7 + size
    return runs, steps


def agent(clean: Desk, program: str) -> subprocess.Popen[str]:
    """What W&B's agent starts for the values of a run, with the variables that it sets."""
    wanted = re.search(r"^command: \[python, (\S+), \"\$\{args\}\"\]$", PAGE["sweep.yaml"], re.M)
    assert wanted
    clean.program(wanted[1], PAGE[wanted[1]].replace('"mi210"', '"lab.yaml"'))
    clean.program("train_wandb.py", program)
    clean.program("lab.yaml", PROFILE.replace("torchrun", "srun"))
    own = {"WANDB_RUN_ID": "abc", "WANDB_SWEEP_ID": "xyz", "WANDB_MODE": "offline", "PATH": PATH}
    words = ["sh", "-c", 'echo $$ > pid; exec "$@"', "sh", sys.executable, wanted[1], "--lr=0.1"]
    return subprocess.Popen(
        clean.cluster.command(words),
        cwd=clean.folder,
        env=clean.cluster.environment(own),
        text=True,
    )


@pytest.mark.thorough
def test_a_run_of_an_agent_is_a_job(clean: Desk) -> None:
    pytest.importorskip("wandb", reason="no W&B: pip install wandb")
    assert agent(clean, PAGE["train_wandb.py"]).wait(240) == 0
    (file,) = (clean.folder / "agent/abc/wandb").glob("offline-run-*/run-abc.wandb")
    (run, *_), steps = records(file)
    assert (run.sweep_id, steps) == ("xyz", 10)
    assert float((clean.folder / "agent/abc/objective.txt").read_text()) == pytest.approx(0.01)


def test_a_run_that_wandb_stops_ends_its_job(clean: Desk) -> None:
    process = agent(clean, "import time\ntime.sleep(600)\n")
    shown = ["squeue", "-h", "-n", "agent-abc", "-o", "%T"]
    until(lambda: "RUNNING" in clean.cluster.run(shown).stdout, 60)
    clean.cluster.run(["kill", (clean.folder / "pid").read_text().strip()])
    assert process.wait(60) == 1
    until(lambda: "RUNNING" not in clean.cluster.run(shown).stdout, 60)
    assert not os.path.exists(clean.folder / "agent/abc/objective.txt")
