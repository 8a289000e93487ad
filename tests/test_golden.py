"""Whole scripts, one file a case: `make golden` rewrites them, and the diff is reviewed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from jobgen.job import Job
from jobgen.profile import reserved
from tests.helpers import script

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
        "sbatch",
        profile="mi210",
        name='a "b" $(id) #',
        sets=("software.container=null",),
        program=("train.py", *HOSTILE, "$$"),
    ),
    "mi210-elastic": Job(
        "sbatch",
        profile="mi210",
        nodes="2:4",
        time="12:00:00",
        max_restarts="3",
        requeue="true",
        program=("train.py",),
    ),
    "mi210-requeue": Job(
        "sbatch", profile="mi210", requeue="true", launcher="srun", program=("train.py",)
    ),
    "dgx-a100-restarts": Job(
        "sbatch", profile="dgx-a100", max_restarts="2", signal="300", program=("train.py",)
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
    "mi210-docker": Job(
        "sbatch", profile="mi210", signal="300", sets=("software.container.engine=docker",)
    ),
    "mi210-apptainer": Job(
        "sbatch",
        profile="mi210",
        launcher="srun",
        signal="300",
        sets=("software.container.engine=apptainer",),
        program=("train.py",),
    ),
    "mi210-array": Job(
        "sbatch",
        profile="mi210",
        array="0-9%2",
        after=("123", "124_5:any"),
        mail="me@example.org",
        qos="long",
        reservation="course",
        constraint="ib&rocm6",
        shared="false",
        program=("train.py", "--seed", "%a", "--out=run %a"),
    ),
    "aws-nvidia": Job("sbatch", profile="aws-nvidia", trainer="cifar10_vgg", program=("2", "1")),
    "aws-nvidia-workspace": Job(
        "sbatch",
        profile="aws-nvidia",
        exclusive="true",
        launcher="torchrun",
        sets=(
            "workspace.url=https://github.com/gnosia93/slurm-on-grv.git",
            "workspace.commit=a03f0ba0f730d026871cfbab1e9e44a60590c357",
            "workspace.folder=/mnt/efs/slurm-on-grv",
        ),
        program=("ddp/cifar10-vgg.py",),
    ),
    "aws-cpu": Job("sbatch", profile="aws-cpu"),
    "aws-cpu-container": Job("sbatch", profile="aws-cpu-container"),
    "eap-array": Job(
        "qsub",
        profile="eap",
        array="0-9%2",
        after=("123", "124.server", "125:any"),
        mail="me@example.org",
        mail_on="begin,fail",
        reservation="R77",
        constraint="mem_type=hbm",
        exclusive="true",
        program=("train.py", "--seed", "%a"),
    ),
    "eap": Job("qsub", profile="eap"),
    "eap-restarts": Job(
        "qsub",
        profile="eap",
        max_restarts="3",
        signal="600",
        requeue="true",
        program=("train.py",),
    ),
    "local-elastic": Job("local", profile="local", nodes="2:3", program=("train.py",)),
    "eap-1-gpu": Job(
        "qsub", profile="eap", nodes="1", gpus_per_node="1", program=("train.py", "10")
    ),
    "eap-ssh": Job(
        "qsub",
        profile="eap",
        nodes="3",
        queue="big",
        account="physics",
        time="90:00",
        rendezvous="static",
        directives=("-W depend=afterok:12", "-p 7", "-m ae"),
        sets=(
            "launch.starter=ssh",
            "request.exclusive=true",
            "request.output=out/a b.txt",
            "request.live_output=false",
            "software.aws_ofi_nccl_root=$HOME/ofi",
            "software.nccl_root=/opt/nccl",
        ),
    ),
    "eap-pbsdsh": Job("qsub", profile="eap", sets=("launch.starter=pbsdsh", "software.modules=[]")),
    "eap-openmpi": Job(
        "qsub", profile="eap", sets=("launch.starter=mpiexec-openmpi", "software.modules=[]")
    ),
    "eap-pals": Job("qsub", profile="eap", sets=("launch.starter=mpiexec-pals",)),
    "byhand-mi210": Job("byhand", profile="mi210", hosts="smc-r07-[07-08]"),
    "byhand-eap": Job(
        "byhand", profile="eap", hosts="blancapeak[003-004]", program=("multinode.py", "50", "10")
    ),
    "byhand-static": Job(
        "byhand",
        profile="dgx-a100",
        hosts="dgx01,dgx02",
        rendezvous="static",
        program=("cifar10-vgg.py",),
    ),
    "byhand-1-host": Job("byhand", profile="mi210", hosts="smc-r07-07", gpus_per_node="2"),
    "local": Job("local", profile="local"),
    "local-gpus": Job(
        "local",
        profile="local",
        nodes="1",
        sets=("node.gpu=nvidia", "node.gpus=2", "launch.processes_per_node=null"),
    ),
    "local-1-node": Job("local", profile="local", nodes="1", program=("train.py",)),
}


@pytest.mark.parametrize("case", CASES)
def test_script_is_the_golden_one(case: str, update: bool) -> None:
    golden, text = GOLDEN / f"{case}.sh", script(CASES[case])
    if update:
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("there", ["templates", "none"])
def test_the_sandbox_changes_no_byte(
    there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / there).mkdir()  # with a folder `templates`, there may be one of the project's
    monkeypatch.chdir(tmp_path)
    for case, job in CASES.items():
        assert script(job) == (GOLDEN / f"{case}.sh").read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES)
def test_script_is_clean(case: str) -> None:
    text = script(CASES[case])
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    found = subprocess.run(
        ["shellcheck", "--norc", "--shell=bash", "-"],
        input=text,
        text=True,
        capture_output=True,
        check=False,
    )
    assert found.stdout == ""


def test_no_variable_of_a_script_can_be_the_user_s() -> None:
    """A script that assigned to an exported variable would change it for the ranks."""
    assigned = set()
    exporting = (job for job in CASES.values() if job.command != "byhand")
    for text in map(script, exporting):
        shell = re.sub(r"<<'PYTHON'.*?^PYTHON$", "", text, flags=re.DOTALL | re.MULTILINE)
        shell = re.sub(r'"[^"\n]*"', '""', shell)
        shell = re.sub(r"(^|  )#.*", "", shell, flags=re.MULTILINE)
        assigned |= set(re.findall(r"^ *([a-z]\w*)\+?=", shell, re.MULTILINE))
        for names in re.findall(r"^ *(?:local|read)(?: -\w+)* (.*)", shell, re.MULTILINE):
            assigned |= set(re.findall(r"(?:^| )([a-z]\w*)(?==|$| )", names.partition("<")[0]))
        assigned |= set(re.findall(r"\bfor (\w+) in", shell))
    assert {"rank", "name", "hosts", "own"} <= assigned
    assert {name for name in assigned if not reserved(name)} == set()


def test_every_golden_file_has_its_case() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(CASES)
