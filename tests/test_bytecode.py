"""Compiled templates are an aid alone: no script depends on what is in the cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from unittest import mock

import jinja2
import pytest

from jobgen import bytecode, names
from jobgen.job import Job
from tests.helpers import script

JOB = Job("sbatch", profile="mi210")
COMPILE = jinja2.Environment.compile


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "jobgen"


def compiled() -> int:
    """How many templates a script had to compile."""
    with mock.patch.object(jinja2.Environment, "compile", autospec=True, side_effect=COMPILE) as it:
        assert script(JOB) == EXPECTED
    return it.call_count


EXPECTED = script(JOB)


def test_a_template_is_compiled_once(cache: Path) -> None:
    assert compiled() > 0
    assert compiled() == 0
    assert cache.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: data[:-100],
        lambda data: data[:40] + b"\0" * 100,
        lambda data: b"x" * len(data),
    ],
)
def test_what_is_torn_is_compiled_again(cache: Path, spoil: Callable[[bytes], bytes]) -> None:
    compiled()
    for file in cache.iterdir():
        file.write_bytes(spoil(file.read_bytes()))
    assert compiled() > 0
    assert compiled() == 0


def test_a_change_of_jobgen_or_of_jinja_compiles_again(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled()
    with monkeypatch.context() as changed:
        changed.setattr(bytecode, "__version__", "0")
        assert compiled() > 0
    with monkeypatch.context() as changed:
        changed.setattr(bytecode, "_MAKERS", ("render.py",))
        assert compiled() > 0


def test_code_from_a_folder_that_others_write_to_is_not_run(cache: Path) -> None:
    compiled()
    cache.chmod(0o770)
    assert compiled() > 0
    assert compiled() > 0


@pytest.mark.parametrize("home", ["/proc/nowhere", "/dev/null"])
def test_without_a_cache_all_is_as_before(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", home)
    assert compiled() > 0


def test_without_a_home_nothing_is_left_in_the_working_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert compiled() > 0
    assert list(tmp_path.iterdir()) == []


def test_without_a_home_nothing_is_run_from_the_working_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A stranger's repository may have a folder called ~ in it."""
    (tmp_path / "~/.cache/jobgen").mkdir(mode=0o700, parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "~/.cache"))
    assert (compiled() > 0, compiled()) == (True, 0)
    monkeypatch.setenv("XDG_CACHE_HOME", "~/.cache")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert compiled() > 0
    assert not names.user_folder().exists()
