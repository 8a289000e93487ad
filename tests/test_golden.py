"""Whole scripts, one file a case: `make golden` rewrites them, and the diff is reviewed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from jobgen import render, store
from jobgen.job import Job, layers
from jobgen.plan import plan
from jobgen.profile import reserved

GOLDEN = Path(__file__).parent / "golden"
HOSTILE = ("--", "a b", "$(id)", "new\nline", "it's", "~/x", "é“”", "\udcff", "")

CASES = {
    "mi210-3-nodes": Job("sbatch", profile="mi210", nodes="3"),
    "mi210-1-node": Job("sbatch", profile="mi210", nodes="1"),
    "mi210-cpu": Job(
        "sbatch", profile="mi210", nodes="3", sets=("software.container=null", "node.gpu=none")
    ),
    "mi210-program": Job(
        "sbatch",
        profile="mi210",
        time="1:30:00",
        name="my run",
        account="physics",
        environment=("NCCL_DEBUG=INFO",),
        directives=("--constraint=ib",),
        program=("train.py", "--lr", "0.1"),
    ),
    "mi210-srun": Job("sbatch", profile="mi210", launcher="srun", program=("-m", "pkg.train")),
    "mi210-hostile": Job(
        "sbatch", profile="mi210", name='a "b" $(id) #', program=("train.py", *HOSTILE)
    ),
    "dgx-a100": Job("sbatch", profile="dgx-a100"),
    "dgx-a100-venv": Job(
        "sbatch",
        profile="dgx-a100",
        nodes="4",
        gpus_per_node="8",
        rendezvous="static",
        sets=(
            "network.interface=[ib0, ib1]",
            "request.exclusive=true",
            "software.modules=[cuda/12.6]",
            "software.venv=~/envs/$NAME",
        ),
    ),
    "dgx-a100-conda": Job(
        "sbatch",
        profile="dgx-a100",
        max_restarts="3",
        sets=("software.conda=pytorch", 'software.commands=["ulimit -l unlimited"]'),
        program=("./run.sh",),
    ),
    "local": Job("local", profile="local"),
    "local-gpus": Job(
        "local",
        profile="local",
        nodes="1",
        sets=("node.gpu=nvidia", "node.gpus=2", "launch.processes_per_node=null"),
    ),
    "local-1-node": Job("local", profile="local", nodes="1", program=("train.py",)),
}


def script(job: Job) -> str:
    return render.render(plan(job, store.load(str(job.profile), layers(job))), job.template)


@pytest.mark.parametrize("case", CASES)
def test_script_is_the_golden_one(case: str, update: bool) -> None:
    golden, text = GOLDEN / f"{case}.sh", script(CASES[case])
    if update:
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES)
def test_script_is_clean(case: str) -> None:
    text = script(CASES[case])
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    found = subprocess.run(
        ["shellcheck", "--norc", "-"], input=text, text=True, capture_output=True, check=False
    )
    assert found.stdout == ""


def test_no_variable_of_a_script_can_be_the_user_s() -> None:
    """A script that assigned to an exported variable would change it for the ranks."""
    assigned = set()
    for text in map(script, CASES.values()):
        shell = re.sub(r"<<'PYTHON'.*?^PYTHON$", "", text, flags=re.DOTALL | re.MULTILINE)
        shell = re.sub(r'"[^"\n]*"', '""', shell)
        assigned |= set(re.findall(r"^ *([a-z]\w*)\+?=", shell, re.MULTILINE))
        for names in re.findall(r"^ *(?:local|read)(?: -\w+)* (.*)", shell, re.MULTILINE):
            assigned |= set(re.findall(r"(?:^| )([a-z]\w*)(?==|$| )", names.partition("<")[0]))
        assigned |= set(re.findall(r"\bfor (\w+) in", shell))
    assert {"rank", "name", "hosts", "own"} <= assigned
    assert {name for name in assigned if not reserved(name)} == set()


def test_every_golden_file_has_its_case() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(CASES)
