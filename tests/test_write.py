"""A file is written as a whole, or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from jobgen.errors import JobgenError
from jobgen.scripts.write import write


def test_a_new_file_is_executable_as_far_as_the_umask_allows(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write("text\n", str(tmp_path / "job.sh"))
    finally:
        os.umask(old)
    assert (tmp_path / "job.sh").read_text() == "text\n"
    assert stat.S_IMODE((tmp_path / "job.sh").stat().st_mode) == 0o750


def test_a_link_remains_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write("new", str(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


@pytest.mark.parametrize(
    ("name", "reason"), [("no/such/job.sh", "No such file or directory"), ("", "Is a directory")]
)
def test_a_file_that_cannot_be_written_is_an_error_with_the_reason(
    tmp_path: Path, name: str, reason: str
) -> None:
    path = tmp_path / name
    with pytest.raises(JobgenError) as error:
        write("text", str(path))
    assert str(error.value) == f"-o {path}: cannot be written: {reason} [output]"
    assert list(tmp_path.iterdir()) == []


def test_after_a_failure_the_old_file_is_the_only_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "job.sh").write_text("old")

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(JobgenError):
        write("new", str(tmp_path / "job.sh"))
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_the_mode_of_no_other_file_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who else can write to the folder may put a link in the new file's place."""
    key = tmp_path / "key"
    key.write_text("secret")
    key.chmod(0o600)
    (tmp_path / "jobs").mkdir()

    def replace_by_link(_: int) -> None:
        (new_file,) = (tmp_path / "jobs").iterdir()
        new_file.unlink()
        new_file.symlink_to(key)

    monkeypatch.setattr(os, "fsync", replace_by_link)
    write("new", str(tmp_path / "jobs/job.sh"))
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert key.read_text() == "secret"


def test_a_device_is_not_replaced(tmp_path: Path) -> None:
    write("text", "/dev/null")
    assert Path("/dev/null").is_char_device()
