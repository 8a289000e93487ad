"""Jobs that run from the environment of a lock, and those that do not find it."""

from __future__ import annotations

import shutil

import pytest

from tests.cluster.jobs import ON_CPU, Desk, PbsDesk, generate
from tests.helpers import diagnose_text
from tests.locks import LOCK, PROJECT, lock_project

LOCKED = ("--set", "software.lock.options=[--extra=gpu]")
TWO = ("--profile", "mi210", *ON_CPU, "-N", "2", "-G", "1", *LOCKED)
SHOW = "import sys, package\nprint('RAN', sys.prefix, package.NAME, flush=True)\n"


@pytest.mark.parametrize(
    "stage",
    ["venv", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("null", "squashfs"))],
)
def test_a_job_without_its_environment_says_how_to_make_it(desk: Desk, stage: str) -> None:
    (desk.folder / "uv.lock").write_text(LOCK)
    (desk.folder / "pyproject.toml").write_text(PROJECT)
    done = desk.run(*TWO, "--set", f"software.stage={stage}")
    assert done.state == "FAILED", done.output
    assert "no such environment: " in done.output
    assert f"; make it: jobgen store build --profile mi210 --set {ON_CPU[1]}" in done.output
    verdict = diagnose_text(done.labelled)
    assert verdict.code == "node-not-ready"
    assert "make it: jobgen store build" in verdict.cure


@pytest.mark.parametrize("starter", ["pbs_tmrsh", "mpiexec-openmpi"])
def test_the_same_under_pbs(pbs: PbsDesk, starter: str) -> None:
    """Where an mpiexec starts the nodes, the software is set up before that, too."""
    (pbs.folder / "uv.lock").write_text(LOCK)
    (pbs.folder / "pyproject.toml").write_text(PROJECT)
    software = ("--set", "software.venv=null", "--set", "software.lock=uv.lock")
    done = pbs.run("-N", "2", *software, "--set", f"launch.starter={starter}")
    assert done.status != 0
    assert "; make it: jobgen store build --profile eap" in done.output


@pytest.mark.parametrize(
    "stage",
    [
        "null",
        pytest.param("venv", marks=pytest.mark.thorough),
        pytest.param("squashfs", marks=pytest.mark.thorough),
    ],
)
def test_a_job_runs_from_the_environment(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    if stage == "squashfs" and not shutil.which("mksquashfs"):
        pytest.skip("mksquashfs is not installed")
    lock_project(desk.folder, monkeypatch)
    options = (*LOCKED, "--set", f"software.stage={stage}", "--set", "software.stage_to=/var/tmp")
    container = ("--set", "software.container=null")
    place = generate("store", "build", "--profile", "mi210", *container, *options, cwd=desk.folder)
    program = desk.program("show.py", SHOW)
    done = desk.run(*TWO, *options[2:], "--", program)
    assert done.exit_code == 0, done.output
    prefixes = {line.split()[-2] for line in done.output.splitlines() if "RAN " in line}
    assert len(prefixes) == 1, done.output
    assert prefixes.pop().startswith(place.strip() if stage == "null" else "/var/tmp/jobgen-")
