"""What people have: conda that is not on PATH, modules that do not load. The last words say it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.cluster.jobs import ON_CPU, Desk, PbsDesk
from tests.helpers import diagnose_text

# A login shell, which modules and conda need, has another PATH.
OWN = ("--set", f"software.jobgen={Path(sys.executable).parent}/jobgen")
SLURM = ("--profile", "dgx-a100", *ON_CPU, *OWN, "-G", "1")
# What `conda shell.bash hook` prints of an installation: a function, which activates by PATH.
CONDA = """#!/bin/sh
echo 'conda() {
  [ -d "$2" ] || set -- activate "BASE/envs/$2"
  [ -d "$2" ] || { echo "
EnvironmentNameNotFound: Could not find conda environment: ${2##*/}
You can list all discoverable environments with \\`conda info --envs\\`.
" >&2; return 1; }
  export CONDA_PREFIX=$2 PATH=$2/bin:$PATH
}'
"""
# The end of Lmod's message is no reason.
LMOD = 'Lmod has detected the following error:  The following module(s) are unknown: "torch"'
CANNOT_LOAD = "a module cannot be loaded: torch"
MODULE = f"""module() {{ echo '{LMOD}

Please check the spelling or version number. Also try "module spider ..."' >&2; return 1; }}"""
SHOWS = "import os, sys\nsys.stdout.write('in {CONDA_PREFIX}\\n'.format(**os.environ))\n"


def installation(base: Path) -> str:
    """A stand-in for a user's miniconda: its conda, and an environment `torch` with the tests'."""
    for folder in ("condabin", "envs/torch/bin"):
        (base / folder).mkdir(parents=True)
    (base / "condabin/conda").write_text(CONDA.replace("BASE", str(base)))
    (base / "condabin/conda").chmod(0o755)
    python = base / "envs/torch/bin/python3"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return str(base / "envs/torch")


def module_that_does_not_load(folder: Path) -> tuple[str, ...]:
    (folder / "modules.sh").write_text(MODULE)
    values = (f'software.commands=[". {folder}/modules.sh"]', "software.modules=[torch]")
    return tuple(word for value in values for word in ("--set", value))


def check(output: str, hosts: list[str], words: str, cause: str = "") -> None:
    """The set-up's words are there for each node; `why` names them, or the cause, at the end."""
    for host in hosts:
        line = rf"jobgen: {host}: its set-up stopped at: .*{re.escape(words)}: see software\(\) in "
        assert re.search(line, output), output
    assert (cause or " ".join(words.split())) in output.splitlines()[-1], output
    assert diagnose_text(output).code in ("node-not-ready", "batch-script"), output


@pytest.mark.thorough
@pytest.mark.parametrize("nodes", [1, 2])
def test_conda_that_is_not_on_path(desk: Desk, nodes: int) -> None:
    """By the folder of an environment, its installation is certain."""
    environment = installation(desk.folder / "miniconda3")
    value = f"software.conda={environment}"
    program = desk.program("shows.py", SHOWS)
    done = desk.run(*SLURM, "-N", str(nodes), "--set", value, "--", program)
    assert done.state == "COMPLETED", done.labelled
    assert done.output.count(f"in {environment}\n") == nodes, done.labelled


@pytest.mark.parametrize("nodes", [1, 2])
def test_no_conda(desk: Desk, nodes: int) -> None:
    done = desk.run(*SLURM, "-N", str(nodes), "--set", f"software.conda={desk.folder}/envs/torch")
    assert (done.state, done.exit_code) == ("FAILED", 1 if nodes == 2 else 127), done.labelled
    check(done.output, ["dgx01", "dgx02"][:nodes], "conda: command not found")


@pytest.mark.thorough
def test_no_such_environment(desk: Desk) -> None:
    """conda's last line is no reason."""
    installation(desk.folder / "miniconda3")
    value = f"software.conda={desk.folder}/miniconda3/envs/nothere"
    done = desk.run(*SLURM, "-N", "2", "--set", value)
    words = "EnvironmentNameNotFound: Could not find conda environment: nothere"
    check(done.output, ["dgx01", "dgx02"], words, "there is no conda environment nothere")


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_module_that_does_not_load(desk: Desk, nodes: int) -> None:
    done = desk.run(*SLURM, "-N", str(nodes), *module_that_does_not_load(desk.folder))
    check(done.output, ["dgx01", "dgx02"][:nodes], LMOD, CANNOT_LOAD)


STARTERS = ["pbs_tmrsh", "mpiexec-openmpi"]


@pytest.mark.parametrize("starter", STARTERS)
def test_a_module_that_does_not_load_under_pbs(pbs: PbsDesk, starter: str) -> None:
    """Also before an mpiexec, which may be in it."""
    words = ("--set", f"launch.starter={starter}", *OWN, *module_that_does_not_load(pbs.folder))
    done = pbs.run(*words)
    assert done.status == 1, done.output
    assert " ".join(LMOD.split()) in " ".join(done.output.split()), done.output
    ends = (CANNOT_LOAD, " ".join(LMOD.split()))  # Lmod's line, or that of the node's check
    assert starter != "pbs_tmrsh" or any(each in done.last for each in ends), done.output
    assert "mpiexec of an MPI" not in done.output
    assert " is ready, " not in done.output
