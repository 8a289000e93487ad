"""The launcher mpiexec: what each mpiexec is told, and what the ranks get of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from jobgen.planning.job_options import Job
from jobgen.schedulers.mpiexec import binding_options, binding_problem
from tests.helpers import script

OPENMPI, MPICH, PALS = "mpiexec-openmpi", "mpiexec-mpich", "mpiexec-pals"


@pytest.mark.parametrize(
    ("starter", "text", "words"),
    [
        (PALS, None, "--cpu-bind none"),
        (PALS, "none", "--cpu-bind none"),
        (PALS, "core", "--cpu-bind core"),
        (PALS, "depth", "--cpu-bind depth --depth 8"),
        (PALS, "depth:16", "--cpu-bind depth --depth 16"),
        (PALS, "list:1-8:9-16", "--cpu-bind list:1-8:9-16"),
        (PALS, "list:0-7,104-111:8-15,112-119", "--cpu-bind list:0-7,104-111:8-15,112-119"),
        (PALS, "verbose,list:1:2", "--cpu-bind verbose,list:1:2"),
        (PALS, "verbose,depth:2", "--cpu-bind verbose,depth --depth 2"),
        (MPICH, None, "-bind-to none"),
        (MPICH, "core", "-bind-to core"),
        (MPICH, "depth", "-bind-to core:8"),
        (MPICH, "depth:2", "-bind-to core:2"),
        (MPICH, "list:0-2,5:7", "-bind-to user:0+1+2+5,7"),
        (OPENMPI, None, "--map-by ppr:4:node --bind-to none --oversubscribe"),
        (OPENMPI, "core", "--map-by ppr:4:node --bind-to core --oversubscribe"),
        (OPENMPI, "depth", "--map-by ppr:4:node:PE=8 --bind-to core --oversubscribe"),
        (OPENMPI, "depth:2", "--map-by ppr:4:node:PE=2 --bind-to core --oversubscribe"),
    ],
)
def test_binding(starter: str, text: str | None, words: str) -> None:
    assert not text or binding_problem(starter, text, 8) is None
    assert " ".join(binding_options(starter, text, 4, 8)) == words


@pytest.mark.parametrize("text", ["cores", "depth:0", "depth:x", "list:", "list:1-", "core:2"])
@pytest.mark.parametrize("starter", [OPENMPI, MPICH, PALS])
def test_no_binding(starter: str, text: str) -> None:
    assert binding_problem(starter, text, 8)


def test_depth_is_the_share_of_a_rank() -> None:
    start = "\nstart_ranks=(mpiexec -n $((nodes * 4)) --ppn 4 --cpu-bind depth --depth 72)\n"
    assert start in script(job(PALS, "launch.cpu_bind=depth:72"))
    text = script(job(PALS, "launch.cpu_bind=depth"))
    assert start in text
    assert "#PBS -l select=2:ncpus=288:mpiprocs=4:" in text


def job(starter: str, *values: str, **fields: str) -> Job:
    sets = (f"launch.starter={starter}", "software.modules=[]", "node.gpu=none", *values)
    program = ("./show",)
    return Job(
        "qsub", profile="eap", launcher="mpiexec", set_values=sets, program=program, **fields
    )  # type: ignore[arg-type]


RANK = {
    OPENMPI: {
        "OMPI_COMM_WORLD_RANK": "5",
        "OMPI_COMM_WORLD_LOCAL_RANK": "1",
        "OMPI_COMM_WORLD_SIZE": "8",
    },
    MPICH: {"PMI_RANK": "5", "MPI_LOCALRANKID": "1", "PMI_SIZE": "8"},
    PALS: {"PALS_RANKID": "5", "PALS_LOCAL_RANKID": "1"},
}


@pytest.mark.parametrize("starter", RANK)
def test_a_rank_has_its_numbers(starter: str, tmp_path: Path) -> None:
    """`ranks` of the upper part, run as mpiexec would."""
    show = tmp_path / "show"
    show.write_text("#!/bin/sh\necho $RANK $LOCAL_RANK $WORLD_SIZE $MASTER_ADDR $MASTER_PORT\n")
    show.chmod(0o755)
    text = script(job(starter))
    ranks = text[text.index("\nranks() {") : text.index("\n# ==== machinery")]
    line = f"set -euo pipefail; nodes=2 head=10.0.0.1 port=1234\n{ranks}\nranks"
    environment = {"PATH": "/usr/bin:/bin", **RANK[starter]}
    done = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout == "5 1 8 10.0.0.1 1234\n"


def test_another_mpiexec_than_the_profile_says(tmp_path: Path) -> None:
    """No rank takes itself for one of one."""
    text = script(job(PALS))
    ranks = text[text.index("\nranks() {") : text.index("\n# ==== machinery")]
    line = f"set -euo pipefail; nodes=2 head=10.0.0.1 port=1234\n{ranks}\nranks"
    environment = {"PATH": "/usr/bin:/bin", **RANK[OPENMPI]}
    done = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "PALS_RANKID: unbound variable" in done.stderr
