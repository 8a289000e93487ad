"""Engines that are not here: stand-ins record the exact command line, and run the command."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path

import pytest

from tests.cluster.jobs import Desk

# Run as docker, apptainer or srun: keeps its words, and runs what follows the image without it.
STAND_IN = """#!{python}
import json, os, sys
name, words = os.path.basename(sys.argv[0]), sys.argv[1:]
if name == "srun" and "--container-workdir=" not in " ".join(words):
    os.execv("/usr/bin/srun", sys.argv)
if name == "docker" and words[0] != "run":
    sys.exit(0)
with open("{calls}", "a") as file:
    file.write(json.dumps([name, *words]) + "\\n")
if name == "srun":
    kept = [word for word in words if "-container-" not in word]
    os.execv("/usr/bin/srun", ["srun", *kept])
given = dict(PATH=os.environ["PATH"])
for word in words:
    if word.startswith("--env="):
        variable, said, value = word[6:].partition("=")
        if said or variable in os.environ:
            given[variable] = value if said else os.environ[variable]
for variable, value in os.environ.items():
    if name == "apptainer" and variable.startswith("APPTAINERENV_"):
        given[variable[13:]] = value
image = next(n for n, word in enumerate(words) if word.endswith("pytorch:1"))
command = words[image + 1:]
os.spawnvpe(os.P_WAIT, command[0], command, given)
"""


@pytest.fixture
def stand_ins(desk: Desk) -> Path:
    """The file with the engines' command lines, one a line as JSON."""
    folder = desk.folder / "bin"
    folder.mkdir()
    calls = desk.folder / "calls"
    for name in ("docker", "apptainer", "srun"):
        (folder / name).write_text(STAND_IN.format(python=sys.executable, calls=calls))
        (folder / name).chmod(0o755)
    return calls


SHOW = """#!/bin/sh
echo "rank $RANK of $WORLD_SIZE: $1, $X, ${SLURM_JOB_ID:-no} job, ${SECRET:-no} secret"
"""


HOME = os.environ["HOME"]


def run(desk: Desk, calls: Path, engine: str, *words: str) -> tuple[str, list[list[str]]]:
    """The job's output, and the engine's command lines without the variables' names, by node."""
    said = {"engine": engine, "image": "x.io/pytorch:1", "mounts": "[$HOME:/h, /a b:/a b:ro]"}
    sets = [f"--set=software.container.{name}={value}" for name, value in said.items()]
    setup = f'--set=software.commands=["PATH={desk.folder}/bin:$PATH", "export SECRET=x"]'
    program = "./" + desk.program("show.sh", SHOW)
    job = desk.submit(
        *("--profile", "mi210", *sets, setup, "-N", "2", "-G", "1", "-e", "X=a b"),
        *(*words, "--", program, "c d"),
    )
    done = desk.cluster.wait(job, 240)
    assert done.state == "COMPLETED", done.output
    lines = [json.loads(line) for line in calls.read_text().splitlines()]
    own = re.compile(rf"jobgen-{job}(-[01])?")  # which may come in either order
    return done.output, [
        [own.sub("NAME", word) for word in line if not re.fullmatch(r"--env=\w+", word)]
        for line in lines
    ]


def ranks(output: str) -> list[str]:
    return sorted(line for line in output.splitlines() if line.startswith("rank "))


def test_docker(desk: Desk, stand_ins: Path) -> None:
    words = ("--launcher", "srun", "--set", "node.gpu=nvidia")
    output, calls = run(desk, stand_ins, "docker", *words)
    folder = desk.folder
    line = ["docker", "run", "--rm", "--name=NAME", f"--user={os.getuid()}:{os.getgid()}"]
    line += ["--env=HOME=/tmp", "--sig-proxy=false", "--network=host", "--ipc=host"]
    line += ["--ulimit=memlock=-1", "--ulimit=stack=67108864", f"--volume={HOME}:/h"]
    line += ["--volume=/a b:/a b:ro", f"--volume={folder}:{folder}", f"--workdir={folder}"]
    line += ["--gpus=all", "x.io/pytorch:1", "./show.sh", "c d"]
    assert calls == [line, line]
    assert [re.sub(r"\d+ job", "a job", line) for line in ranks(output)] == [
        f"rank {rank} of 2: c d, a b, a job, no secret" for rank in range(2)
    ]


def test_apptainer(desk: Desk, stand_ins: Path) -> None:
    output, calls = run(desk, stand_ins, "apptainer", "--launcher", "srun")
    folder = desk.folder
    line = ["apptainer", "exec", "--cleanenv", "--no-eval", "--no-home", f"--bind={HOME}:/h"]
    line += ["--bind=/a b:/a b:ro", f"--bind={folder}", f"--pwd={folder}", "--rocm"]
    line += ["docker://x.io/pytorch:1", "./show.sh", "c d"]
    assert calls == [line, line]
    assert [re.sub(r"\d+ job", "a job", line) for line in ranks(output)] == [
        f"rank {rank} of 2: c d, a b, a job, no secret" for rank in range(2)
    ]


def test_pyxis(desk: Desk, stand_ins: Path) -> None:
    """Its step is a real one, inside the step of its node."""
    output, calls = run(desk, stand_ins, "pyxis", "--set", "node.gpu=none")
    folder = desk.folder
    line = ["srun", "--overlap", "--nodes=1", "--ntasks=1", "--ntasks-per-node=1"]
    step = ["--export=ALL", "--cpus-per-task=128", "--cpu-bind=none", "--container-name=NAME"]
    step += ["--container-image=x.io#pytorch:1", "--no-container-mount-home"]
    step += [f"--container-workdir={folder}"]
    step += [f"--container-mounts={folder}:{folder},{HOME}:/h,/a b:/a b:ro"]
    for call in calls:
        assert call[:5] == line
        assert re.fullmatch("--nodelist=smc-r07-0[78]", call[5])
        assert call[6:14] == step
        assert call[14].startswith("--container-env=PYTHONUNBUFFERED,OMP_NUM_THREADS,")
        assert call[15] in ("python3", "sh")
    assert len(calls) == 4  # each node's preflight and torchrun
    assert [re.sub(r"\d+ job", "a job", line) for line in ranks(output)] == [
        f"rank {rank} of 2: c d, a b, a job, x secret" for rank in range(2)
    ]


def test_aws_cpu_container(desk: Desk, stand_ins: Path) -> None:
    """The profile as it is but for its image's size, and two ranks a node instead of four."""
    job = desk.submit(
        *("--profile", "aws-cpu-container", "--mkdir"),
        *("--set", "software.container.image=x.io/pytorch:1"),
        f'--set=software.commands=["PATH={desk.folder}/bin:$PATH"]',
        *("--set", "launch.processes_per_node=2", "--trainer", "regression", "--", "2", "1"),
    )
    done = desk.cluster.wait(job, 240)
    assert done.state == "COMPLETED", done.output
    assert len(re.findall(r"^\[RANK [0-3]\] Epoch 1 ", done.output, re.MULTILINE)) == 4
    assert "--container-mounts=" in stand_ins.read_text()


def test_warning_reaches_ranks_in_apptainer(desk: Desk, stand_ins: Path) -> None:
    """No name finds them there; the mark in their environment does."""
    sets = ("engine=apptainer", "image=x.io/pytorch:1", "mounts=[]")
    job = desk.submit(
        *("--profile", "mi210", "--set", "node.gpu=none", "-N", "1", "-G", "1", "--signal", "60"),
        *(word for text in sets for word in ("--set", f"software.container.{text}")),
        f'--set=software.commands=["PATH={desk.folder}/bin:$PATH"]',
        *("--trainer", "regression", "--", "1000", "1000"),
    )
    log = desk.folder / f"regression-{job}.out"
    limit = time.monotonic() + 120
    while not log.exists() or "Epoch 0" not in log.read_text():
        assert time.monotonic() < limit, log.read_text() if log.exists() else "no output"
        time.sleep(0.2)
    desk.cluster.run(["scancel", "--batch", "--signal=USR1", str(job)])
    done = desk.cluster.wait(job, 120)
    assert done.state == "COMPLETED", done.output
    assert "Told to end, epoch " in done.output
