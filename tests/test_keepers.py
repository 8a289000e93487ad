"""The keeper of a job repository: one file beside the manifest, which its scripts name."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from jobgen.errors import run_command
from jobgen.keeper.carried import keeper_files, keeper_text
from jobgen.repository.build import BuildOptions, build_all
from jobgen.repository.check import check_all
from tests.helpers import jobgen

MANIFEST = """\
defaults: {profile: dgx-a100, file: "jobs/{name}.sh", program: [train.py]}
jobs:
  plain: {}
  stall: {stall: 30}
  lead: {profile: eap}
"""
OTHERS_FOLDER = "  chdir: {stall: 30, set: {request.chdir: /scratch}}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "jobgen.yaml").write_text(MANIFEST)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def build(prune: bool = False, dry_run: bool = False) -> int:
    return run_command(lambda: build_all("jobgen.yaml", BuildOptions(prune, dry_run=dry_run)))


def check(fix: bool = False) -> int:
    return run_command(lambda: check_all(["."], fix, False))


def files(folder: Path) -> set[str]:
    return {path.name for path in (folder / ".jobgen").iterdir()}


def keeper_of(script: Path) -> Path:
    """The file that a script names, from the folder of the manifest."""
    names = re.findall(r"\.jobgen/keeper-[0-9a-f]{16}\.py", script.read_text())
    assert len(set(names)) == 1
    return script.parent.parent / str(names[0])


def test_scripts_of_a_manifest_name_a_file(folder: Path) -> None:
    assert build() == 0
    assert keeper_of(folder / "jobs/stall.sh").read_text() == keeper_text(False, True)
    assert keeper_of(folder / "jobs/lead.sh").read_text() == keeper_text(True, False)
    assert "keeper" not in (folder / "jobs/plain.sh").read_text()
    assert len(files(folder)) == 2
    assert "def keep(" not in (folder / "jobs/stall.sh").read_text()
    alone = jobgen("sbatch", "--profile", "dgx-a100", "--stall", "30", "--", "train.py")
    assert "def keep(" in alone.stdout.decode()
    assert ".jobgen/keeper" not in alone.stdout.decode()


def test_a_job_in_another_folder_carries_its_keeper(folder: Path) -> None:
    """It would not find the file."""
    (folder / "jobgen.yaml").write_text(MANIFEST + OTHERS_FOLDER)
    assert build() == 0
    assert "def keep(" in (folder / "jobs/chdir.sh").read_text()
    assert check() == 0


def test_check_reports_and_writes_files(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    build()
    stall, lead = (keeper_of(folder / f"jobs/{name}.sh") for name in ("stall", "lead"))
    stall.unlink()
    lead.write_text("print()\n")
    capfd.readouterr()
    assert check() == 1
    out, err = capfd.readouterr()
    why = "its scripts would end at once; --fix writes it"
    assert f".jobgen/{stall.name}: missing: {why}\n" in out
    assert f".jobgen/{lead.name}: changed: {why}\n" in out
    assert "3 current, 2 keepers missing or changed" in err
    assert check(fix=True) == 0
    assert f".jobgen/{lead.name}: fixed: it was changed\n" in capfd.readouterr().out
    assert lead.read_text() == keeper_text(True, False)
    assert check() == 0


def test_build_writes_what_is_missing(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    build()
    file = keeper_of(folder / "jobs/stall.sh")
    file.unlink()
    assert build(dry_run=True) == 1
    assert not file.exists()
    assert f".jobgen/{file.name}: would be written\n" in capfd.readouterr().out
    assert build() == 0
    assert file.exists()


def test_only_prune_removes_a_file(folder: Path) -> None:
    """Jobs in the queue may need it."""
    build()
    lead = keeper_of(folder / "jobs/lead.sh")
    older = folder / ".jobgen/keeper-0123456789abcdef.py"
    older.write_text("")
    (folder / "jobgen.yaml").write_text(MANIFEST.replace("  lead: {profile: eap}\n", ""))
    assert build() == 0
    assert lead.exists()
    assert build(prune=True, dry_run=True) == 1
    assert lead.exists()
    assert build(prune=True) == 0
    assert files(folder) == {keeper_of(folder / "jobs/stall.sh").name}


def test_prune_keeps_what_other_scripts_name(folder: Path) -> None:
    build()
    lead = keeper_of(folder / "jobs/lead.sh")
    text = MANIFEST.replace("  stall: {stall: 30}\n", "")
    (folder / "other.yaml").write_text(text.replace("  plain: {}\n", ""))
    (folder / "jobgen.yaml").write_text(MANIFEST.replace("  lead: {profile: eap}\n", ""))
    (folder / "jobs/lead.sh").unlink()
    assert run_command(lambda: build_all("other.yaml", BuildOptions())) == 0
    assert build(prune=True) == 0
    assert lead.exists()


def test_a_link_is_not_followed(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    build()
    outside = tmp_path_factory.mktemp("outside")
    for path in (folder / ".jobgen").iterdir():
        path.unlink()
    (folder / ".jobgen").rmdir()
    (folder / ".jobgen").symlink_to(outside)
    assert check(fix=True) == 2
    assert list(outside.iterdir()) == []


def test_a_header_leads_to_no_folder_outside(folder: Path) -> None:
    """It may be forged."""
    build()
    inner = folder / "inner"
    (folder / "jobs").rename(inner)
    (inner / ".git").mkdir()
    for path in (folder / ".jobgen").iterdir():
        path.unlink()
    (folder / "jobgen.yaml").unlink()
    run_command(lambda: check_all(["inner"], True, True))
    assert files(folder) == set()


def run(folder: Path, script: Path) -> subprocess.CompletedProcess[str]:
    """The lines of a script about its keeper, submitted in a folder; and then the keeper's size."""
    text = script.read_text()
    begin = text.index("# ---- the keeper, ")
    lines = text[begin : text.index("# ==== machinery")] + 'echo "${#keeper}"\n'
    command = ["bash", "-euo", "pipefail", "-c", lines]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("submitted_in", [".", "jobs"])
def test_a_job_reads_the_file(folder: Path, submitted_in: str) -> None:
    build()
    script = folder / "jobs/stall.sh"
    done = run(folder / submitted_in, script)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) == len(keeper_text(False, True)) - 1


@pytest.mark.parametrize("text", [None, "", "print()\n"])
def test_a_job_refuses_another_file(folder: Path, text: str | None) -> None:
    build()
    script = folder / "jobs/stall.sh"
    file = keeper_of(script)
    file.unlink()
    if text is not None:
        file.write_text(text)
    done = run(folder, script)
    assert (done.returncode, done.stdout) == (1, "")
    name = os.path.relpath(file, folder)
    assert done.stderr == (
        f"jobgen: {name} is not here, or has changed: submit the job from the folder of the"
        " manifest, or first: jobgen check --fix .\n"
    )


def test_each_text_has_a_file() -> None:
    assert len(keeper_files()) == 5
