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

# Run as one of the engines or srun: keeps its words, and runs what follows the image without it.
# srun with an environment (Slurm's container engine) runs it by `image`, in the same folder.
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
    others = [word for word in words if "-container-" not in word and "--environment" not in word]
    if others != [word for word in words if "-container-" not in word]:
        others.insert(others.index("env"), "{folder}/image")
    os.execv("/usr/bin/srun", ["srun", *others])
passed = dict(PATH=os.environ["PATH"])
if name == "shifter":  # all variables, but the image's own win over them
    passed = dict(os.environ, X="the image's")
for word in words:
    if word.startswith("--env="):
        variable, has_value, value = word[6:].partition("=")
        if has_value or variable in os.environ:
            passed[variable] = value if has_value else os.environ[variable]
for variable, value in os.environ.items():
    prefix = name.upper() + "ENV_"
    if variable.startswith(prefix):
        passed[variable.removeprefix(prefix)] = value
image = next(n for n, word in enumerate(words) if word.endswith("pytorch:1"))
command = words[image + 1:]
while command[0].startswith("--"):  # shifter has its options behind the image
    del command[0]
sys.exit(os.spawnvpe(os.P_WAIT, command[0], command, passed))
"""


@pytest.fixture
def stand_ins(desk: Desk) -> Path:
    """The file with the engines' command lines, one a line as JSON."""
    folder = desk.folder / "bin"
    folder.mkdir()
    calls = desk.folder / "calls"
    for name in ("docker", "apptainer", "singularity", "shifter", "srun"):
        stand_in = STAND_IN.format(python=sys.executable, calls=calls, folder=folder)
        (folder / name).write_text(stand_in)
        (folder / name).chmod(0o755)
    for name, text in (("image", IMAGE), ("enroot", "#!/bin/sh\n")):  # enroot: it is on PATH
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return calls


# What an environment does: the image's own variables win, and there is no ip.
IMAGE = """#!/bin/bash
ip() { echo "no ip here" >&2; return 127; }
export -f ip
export X="the image's" OF_IMAGE=1
exec "$@"
"""


SHOW = """#!/bin/sh
echo "rank $RANK of $WORLD_SIZE: $1, $X, ${SLURM_JOB_ID:-no} job, ${SECRET:-no} secret"
"""


HOME = os.environ["HOME"]


def run(desk: Desk, calls: Path, engine: str, *words: str) -> tuple[str, list[list[str]]]:
    """The job's output, and the engine's command lines without the variables' names, by node."""
    container = {"engine": engine, "image": "x.io/pytorch:1", "mounts": "[$HOME:/h, /a b:/a b:ro]"}
    if engine == "ce":
        container = {
            "engine": "ce",
            "environment": "$HOME/a b.toml",
            "image": "null",
            "mounts": "[]",
        }
    sets = [f"--set=software.container.{name}={value}" for name, value in container.items()]
    setup = f'--set=software.commands=["PATH={desk.folder}/bin:$PATH", "export SECRET=x"]'
    program = "./" + desk.program("show.sh", SHOW)
    job = desk.submit(
        *("--profile", "mi210", *sets, setup, "-N", "2", "-G", "1", "-e", "X=a b"),
        *(*words, "--", program, "c d"),
    )
    done = desk.cluster.wait(job, 240)
    assert done.state == "COMPLETED", done.output
    lines = [json.loads(line) for line in calls.read_text().splitlines()]
    name = re.compile(rf"jobgen-{job}-([01](-0-0)?|smc-r07-0[789])")  # the nodes come in any order
    rank = re.compile(r"((?:LOCAL_)?RANK|MASTER_\w+|--export=ALL,JOBGEN_JOB)=.*")
    return done.output, [
        [rank.sub(r"\1", name.sub("NAME", w)) for w in line if not re.fullmatch(r"--env=\w+", w)]
        for line in lines
    ]


# What is before the program of a rank that srun starts.
ENV = ["env", "RANK", "LOCAL_RANK", "WORLD_SIZE=2", "MASTER_ADDR", "MASTER_PORT"]


def ranks(output: str) -> list[str]:
    return sorted(line for line in output.splitlines() if line.startswith("rank "))


def test_docker(desk: Desk, stand_ins: Path) -> None:
    words = ("--launcher", "srun", "--set", "node.gpu=nvidia")
    output, calls = run(desk, stand_ins, "docker", *words)
    folder = desk.folder
    line = ["docker", "run", "--rm", "--name=NAME", f"--user={os.getuid()}:{os.getgid()}"]
    line += ["--env=HOME=/tmp", "--network=host", "--ipc=host"]
    line += ["--ulimit=memlock=-1", "--ulimit=stack=67108864", f"--volume={HOME}:/h"]
    line += ["--volume=/a b:/a b:ro", f"--volume={folder}:{folder}", f"--workdir={folder}"]
    line += ["--gpus=all", "x.io/pytorch:1", *ENV, "./show.sh", "c d"]
    assert calls == [line, line]
    assert [re.sub(r"\d+ job", "a job", line) for line in ranks(output)] == [
        f"rank {rank} of 2: c d, a b, a job, x secret" for rank in range(2)
    ]


@pytest.mark.parametrize("engine", ["apptainer", "singularity"])
def test_apptainer(desk: Desk, stand_ins: Path, engine: str) -> None:
    output, calls = run(desk, stand_ins, engine, "--launcher", "srun")
    folder = desk.folder
    line = [engine, "exec", "--cleanenv", "--no-eval", "--no-home", f"--bind={HOME}:/h"]
    line += ["--bind=/a b:/a b:ro", f"--bind={folder}", f"--pwd={folder}", "--rocm"]
    line += ["docker://x.io/pytorch:1", *ENV, "./show.sh", "c d"]
    assert calls == [line, line]
    assert [re.sub(r"\d+ job", "a job", line) for line in ranks(output)] == [
        f"rank {rank} of 2: c d, a b, a job, x secret" for rank in range(2)
    ]


def test_pyxis(desk: Desk, stand_ins: Path) -> None:
    """Its step is a real one, inside the step of its node."""
    output, calls = run(desk, stand_ins, "pyxis", "--set", "node.gpu=none")
    folder = desk.folder
    line = ["srun", "--overlap", "--nodes=1", "--ntasks=1", "--ntasks-per-node=1"]
    step = ["--export=ALL,JOBGEN_JOB", "--cpu-bind=none", "--container-name=NAME"]
    step += ["--no-container-mount-home", f"--container-workdir={folder}"]
    step += [f"--container-mounts={folder}:{folder},{HOME}:/h,/a b:/a b:ro"]
    step += ["--container-image=x.io#pytorch:1"]
    for call in calls:
        assert call[:5] == line
        assert re.fullmatch("--nodelist=smc-r07-0[78]", call[5])
        assert call[6:13] == step
        assert call[13].startswith("--container-env=PYTHONUNBUFFERED,OMP_NUM_THREADS,")
        assert call[14] == "python3"
    assert len(calls) == 4  # each node's preflight and torchrun
    assert [re.sub(r"\d+ job", "a job", line) for line in ranks(output)] == [
        f"rank {rank} of 2: c d, a b, a job, x secret" for rank in range(2)
    ]


def test_shifter(desk: Desk, stand_ins: Path) -> None:
    options = "software.container.options=['--module=gpu,nccl-plugin', '--volume=$HOME/x:/x']"
    words = ("--launcher", "srun", "--set", "node.gpu=nvidia", "--set", options)
    output, calls = run(desk, stand_ins, "shifter", *words)
    line = ["shifter", "--image=docker:x.io/pytorch:1", f"--volume={HOME}:/h"]
    line += ["--volume=/a b:/a b:ro", "--module=gpu,nccl-plugin", f"--volume={HOME}/x:/x"]
    for call in calls:
        own = [word for word in call if not word.startswith("--env=")]
        assert own == [*line, *ENV, "./show.sh", "c d"]
        assert "--env=X=a b" in call
        assert not any(word.endswith("=") for word in call if word.startswith("--env="))
    assert len(calls) == 2
    assert [re.sub(r"\d+ job", "a job", line) for line in ranks(output)] == [
        f"rank {rank} of 2: c d, a b, a job, x secret" for rank in range(2)
    ]


STEP = ["--overlap", "--nodes=1", "--ntasks=1", "--ntasks-per-node=1"]


def test_container_engine_of_slurm(desk: Desk, stand_ins: Path) -> None:
    """Its step is a real one, inside the step of its node."""
    output, calls = run(desk, stand_ins, "ce", "--set", "node.gpu=none")
    for call in calls:
        assert call[:5] == ["srun", *STEP]
        assert re.fullmatch("--nodelist=smc-r07-0[78]", call[5])
        assert call[6:8] == ["--cpu-bind=none", "--export=ALL,JOBGEN_JOB"]
        assert call[8:11] == [
            *(f"--environment={HOME}/a b.toml", f"--container-workdir={desk.folder}", "env"),
        ]
        assert {"X=a b", "python3"} < set(call)
    assert len(calls) == 4  # each node's preflight and torchrun
    assert [re.sub(r"\d+ job", "a job", line) for line in ranks(output)] == [
        f"rank {rank} of 2: c d, a b, a job, x secret" for rank in range(2)
    ]


@pytest.mark.parametrize("form", ["", "--plain", "--signal=60"])
def test_ranks_of_srun_in_the_container_engine(desk: Desk, stand_ins: Path, form: str) -> None:
    """The ranks' own step has the environment: Slurm's numbers are right, and no rank needs ip."""
    words = ("--set", "node.gpu=none", "--set", "launch.processes_per_node=2", *form.split("="))
    output, calls = run(desk, stand_ins, "ce", "--launcher", "srun", *filter(None, words))
    ranks_a_node = ["--ntasks=4", "--ntasks-per-node=2"]
    if form == "--plain":
        step = [
            "--cpu-bind=none",
            "--distribution=block",
            "--nodes=2",
            *ranks_a_node,
            "--export=ALL",
            "-K1",
        ]
        step.append("--export=ALL")
    else:
        step = ["--nodes=2", "--ntasks=2", "--ntasks-per-node=1", "--export=ALL", "-K0"]
        step += ["--cpu-bind=none", "--distribution=block", *ranks_a_node, "-K1", "--export=ALL"]
    assert calls[-1][: len(step) + 2] == ["srun", *step, f"--environment={HOME}/a b.toml"]
    assert all(call[1:5] == STEP for call in calls[:-1])  # the checks of the nodes
    assert [re.sub(r"\d+ job", "a job", line) for line in ranks(output)] == [
        f"rank {rank} of 4: c d, a b, a job, x secret" for rank in range(4)
    ]
    assert "no ip here" not in output


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


@pytest.mark.thorough
def test_warning_reaches_ranks_in_apptainer(desk: Desk, stand_ins: Path) -> None:
    """Their environment shows which processes are ranks."""
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
    assert "Stopped early, epoch " in done.output
