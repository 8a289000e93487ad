"""`jobgen doctor`: the script of the job that measures, and the report of its results."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.doctor_results import example_results
from tests.test_cli import ROOT, jobgen

MI210 = ROOT / "profiles/mi210.yaml"


def script(*words: str, cwd: Path | None = None) -> str:
    done = jobgen("doctor", *words, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, b""), done.stderr
    return done.stdout.decode()


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (
            ("--profile", "mi210", "-N", "8"),
            "sbatch --profile mi210 -N 8 -t 0:30:00 --trainer doctor"
            " -- --exit-zero --cluster mi210",
        ),
        (
            ("--profile", "eap", "-t", "10m", "-q", "gpu"),
            "qsub --profile eap -t 10m -q gpu --trainer doctor -- --exit-zero --cluster eap",
        ),
        (
            ("--profile", "local", "-e", "A=1"),
            "local --profile local --trainer doctor -e A=1 -- --exit-zero --cluster local",
        ),
    ],
)
def test_the_script_is_that_of_a_job(words: tuple[str, ...], command: str) -> None:
    """So `jobgen check` knows it."""
    text = script(*words)
    assert text.split("\n")[2] == f"#   jobgen {command}"
    again = jobgen(*command.split())
    assert again.stdout.decode() == text


def test_the_profile_s_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.yaml").write_text(f"extends: {MI210}\n")
    assert " --cluster own\n" in script("--profile", "./own.yaml", cwd=tmp_path)
    monkeypatch.setenv("JOBGEN_PROFILE", "mi210")
    assert " --cluster mi210\n" in script()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            (),
            "--profile: no profile is named; one of `jobgen profiles list`; `jobgen detect`"
            " writes one for the cluster here [usage]",
        ),
        (
            ("--profile", "mi210", "-q", "gpu"),
            "--queue: `jobgen sbatch`, which makes the scripts for mi210, has no",
        ),
        (("--profile", "local", "--wait"), "--wait: it is not for a job of this machine alone"),
        (
            ("--report", "x.json", "-N", "2"),
            "--nodes: it is not for --report, which only draws a file; leave --nodes out",
        ),
        (("--report", "none.json"), "none.json: cannot be read: No such file or directory"),
    ],
)
def test_wrong_words(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = jobgen("doctor", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith(f"jobgen: {message}"), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_report(tmp_path: Path) -> None:
    results = example_results(2)
    (tmp_path / "7.json").write_text(json.dumps(results))
    done = jobgen("doctor", "--report", "7.json", cwd=tmp_path)
    assert done.stderr == b"jobgen: the report is 7.html\n"
    assert done.returncode == (1 if results["verdict"]["findings"] else 0)
    page = tmp_path / "7.html"
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert not page.stat().st_mode & 0o111
    refused = jobgen("doctor", "--report", "7.json", "-o", "./7.json", cwd=tmp_path)
    assert refused.returncode == 2
    assert b"there is a file of this name that jobgen has not made" in refused.stderr
    assert json.loads((tmp_path / "7.json").read_text()) == results
    results["verdict"] = {"exclude": [], "findings": [], "rule": ""}
    results["network"]["problem"] = ""
    (tmp_path / "7.json").write_text(json.dumps(results))
    done = jobgen("doctor", "--report", "7.json", "-o", "-", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"<!DOCTYPE html>")


@pytest.mark.torch
def test_a_local_job_and_its_report(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the trainers need torch: pip install '.[trainers]'")
    small = ("--set", "launch.processes_per_node=1")
    text = script("--profile", "local", "-N", "2", *small)
    text = text.replace(" --exit-zero --cluster local", " --exit-zero --to 64K --cluster local")
    done = subprocess.run(
        ["bash"], input=text, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (file,) = tmp_path.glob("jobgen-doctor/*.json")
    assert " rank 0: jobgen doctor: " in done.stdout.splitlines()[-1], done.stdout
    drawn = jobgen("doctor", "--report", str(file), cwd=tmp_path)
    assert drawn.returncode == 0, drawn.stderr
    assert file.with_suffix(".html").exists()
