"""jobgen in a subfolder of a repository finds what it finds in the repository, as `check` does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import jobgen
from jobgen.cli.app import run_words
from jobgen.errors import JobgenError, run_command
from jobgen.paths import bundled

MINE = "extends: dgx-a100\naccount: mine\n"
OURS = '{% extends "bundled/sbatch.sh.j2" %}{% block begin %}\n# ours\n{% endblock %}'
ROOT = Path(__file__).parent.parent
SUBFOLDERS = ("jobs", "jobs/2026/a b")
WORDS = ["sbatch", "--profile", "mine", "-N", "2", "--", "/bin/true"]
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a profile and folders; it is the working folder."""
    root = tmp_path / "repository"
    for folder in (".git", "profiles", *SUBFOLDERS):
        (root / folder).mkdir(parents=True)
    (root / "profiles/mine.yaml").write_text(MINE)
    monkeypatch.chdir(root)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return root


def made_in(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
            *words: str) -> str:  # fmt: skip
    """The script that is made there. Raises JobgenError."""
    monkeypatch.chdir(folder)
    assert run_words([*(words or WORDS)]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("mark", [".git", "jobgen.yaml", "profiles/mine.yaml"])
def test_a_script_has_the_same_bytes_from_any_folder(
    mark: str,
    repository: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (repository / ".git").rmdir()
    (repository / mark).touch()
    expected = made_in(repository, capsys, monkeypatch)
    assert "\n#SBATCH --account=mine\n" in expected
    for folder in SUBFOLDERS:
        assert made_in(repository / folder, capsys, monkeypatch) == expected
        with pytest.raises(JobgenError, match="no profile `mine`"):  # a program names its folder
            jobgen.script("mine", ["/bin/true"], nodes=2, folder=str(repository / folder))
        assert jobgen.script("mine", ["/bin/true"], nodes=2, folder=str(repository)) == expected
        assert run_words([*WORDS[:-2], "-o", "new/x.sh", *WORDS[-2:]]) == 0
        assert run_words(["check"]) == 0
        assert capsys.readouterr().out == "new/x.sh: current\n"


def test_profiles_are_listed_and_their_places_shown(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository / "jobs")
    assert run_words(["profiles", "list"]) == 0
    assert capsys.readouterr().out.startswith("Your own:\n  mine ")
    (repository / "profiles/mine.yaml").write_text(f"{MINE}nodes: 4\n")
    with pytest.raises(JobgenError, match=r"^\.\./profiles/mine\.yaml:3:1: "):
        run_words(WORDS)


def test_the_nearest_repository_counts(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as a submodule; and `--profile FILE` stays a path from here."""
    (repository / "jobs/2026/.git").touch()
    (repository / "jobs/2026/near.yaml").write_text(MINE)
    monkeypatch.chdir(repository / "jobs/2026/a b")
    with pytest.raises(JobgenError, match="no profile `mine`"):
        run_words(WORDS)
    with pytest.raises(JobgenError, match=r"no file near\.yaml"):
        run_words(["sbatch", "--profile", "near.yaml"])
    monkeypatch.chdir(repository / "jobs/2026")
    with pytest.raises(JobgenError, match=r"the file here is near\.yaml"):
        run_words(["sbatch", "--profile", "near"])


@only_root
def test_files_of_others_make_no_repository(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody can put them into /tmp, where other people's folders are."""
    (repository / ".git").rmdir()
    os.chown(repository / "profiles/mine.yaml", 12345, 12345)
    monkeypatch.chdir(repository / "jobs")
    with pytest.raises(JobgenError, match="no profile `mine`"):
        run_words(WORDS)
    os.chown(repository / "jobs", 12345, 12345)  # who works there has chosen its owner
    made_in(repository / "jobs", capsys, monkeypatch)
    os.chown(repository / "jobs", 0, 0)
    made_in(repository, capsys, monkeypatch)


def test_a_template_of_the_repository_is_code(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From elsewhere it runs as for `check`: if the user trusts the folder."""
    (repository / "templates").mkdir()
    (repository / "templates/sbatch.sh.j2").write_text(OURS)
    expected = made_in(repository, capsys, monkeypatch)
    assert "\n# ours\n" in expected
    monkeypatch.chdir(repository / "jobs")
    with pytest.raises(SystemExit) as error:
        raise SystemExit(run_command(lambda: run_words(WORDS)))
    assert error.value.code == 2
    trusted = repository.parent / "config/jobgen/trusted"
    message = "../templates/sbatch.sh.j2: a template is code, and nobody has said that this one may"
    hint = f"read it, then run jobgen in .., or add its repository to {trusted} [untrusted]"
    assert capsys.readouterr().err == f"jobgen: {message} run; {hint}\n"
    path = ("--template", "../templates/sbatch.sh.j2")  # who types a path has chosen the file
    assert "\n# ours\n" in made_in(
        repository / "jobs", capsys, monkeypatch, *WORDS[:-2], *path, *WORDS[-2:]
    )
    trusted.parent.mkdir(parents=True)
    trusted.write_text(f"{repository}\n")
    assert made_in(repository / "jobs", capsys, monkeypatch) == expected
    file = repository / "templates/sbatch.sh.j2"
    file.rename(repository.parent / "outside")
    file.symlink_to(repository.parent / "outside")
    with pytest.raises(JobgenError, match=r"it is a link out of \.\.; keep a copy"):
        run_words(WORDS)


def test_the_templates_of_jobgen_s_own_clone_are_trusted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/dev/null")
    assert bundled("templates") == ROOT / "templates"
    words = ("sbatch", "--profile", "dgx-a100")
    script = made_in(ROOT, capsys, monkeypatch, *words)
    assert made_in(ROOT / "docs", capsys, monkeypatch, *words) == script


def test_check_and_lint_without_a_path_take_the_working_folder(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "jobs/bad.sh").write_text("#!/bin/bash\n#SBATCH --nodes=2\ntorchrun train.py\n")
    assert run_words(["lint"]) == 1
    assert capsys.readouterr().out.startswith("./jobs/bad.sh:")
    assert run_words(["check"]) == 0
    assert capsys.readouterr().err.startswith("jobgen: no script; ")
