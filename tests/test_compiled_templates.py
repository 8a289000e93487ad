"""Compiled templates save time alone: no script depends on what is in the cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from unittest import mock

import jinja2
import pytest

from jobgen.paths import user_folder
from jobgen.planning.job_options import Job
from jobgen.scripts import jinja_environments
from tests.helpers import script

JOB = Job("sbatch", profile="mi210")
COMPILE = jinja2.Environment.compile


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "jobgen"


def compilations() -> int:
    """How many templates jobgen compiles for a script."""
    with mock.patch.object(
        jinja2.Environment, "compile", autospec=True, side_effect=COMPILE
    ) as compile_template:
        assert script(JOB) == EXPECTED
    return compile_template.call_count


EXPECTED = script(JOB)


def test_a_template_is_compiled_once(cache: Path) -> None:
    assert compilations() > 0
    assert compilations() == 0
    assert cache.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-100],
        lambda data: data[:40] + b"\0" * 100,
        lambda data: b"x" * len(data),
    ],
)
def test_a_damaged_file_is_compiled_again(cache: Path, damage: Callable[[bytes], bytes]) -> None:
    compilations()
    for file in cache.iterdir():
        file.write_bytes(damage(file.read_bytes()))
    assert compilations() > 0
    assert compilations() == 0


def test_a_change_of_jobgen_or_of_jinja_compiles_again(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compilations()
    with monkeypatch.context() as changed:
        changed.setattr(jinja2, "__version__", "0")
        assert compilations() > 0
    with monkeypatch.context() as changed:
        changed.setattr(jinja_environments, "_SOURCES", ("scripts/render.py",))
        assert compilations() > 0


def test_code_from_a_folder_that_others_write_to_is_not_run(cache: Path) -> None:
    compilations()
    cache.chmod(0o770)
    assert compilations() > 0
    assert compilations() > 0


@pytest.mark.parametrize("home", ["/proc/nowhere", "/dev/null"])
def test_without_a_cache_the_script_is_the_same(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", home)
    assert compilations() > 0


def test_a_home_that_does_not_exist_is_not_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    assert compilations() > 0
    assert list(tmp_path.iterdir()) == []


def test_without_a_home_nothing_is_written_to_the_working_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert compilations() > 0
    assert list(tmp_path.iterdir()) == []


def test_without_a_home_nothing_is_run_from_the_working_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A stranger's repository may have a folder called ~ in it."""
    (tmp_path / "~/.cache/jobgen").mkdir(mode=0o700, parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "~/.cache"))
    assert (compilations() > 0, compilations()) == (True, 0)
    monkeypatch.setenv("XDG_CACHE_HOME", "~/.cache")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert compilations() > 0
    assert not user_folder("XDG_CACHE_HOME", ".cache").exists()
