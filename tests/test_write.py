"""A file is written as a whole, or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from jobgen.errors import JobgenError
from jobgen.generator import Generator
from jobgen.planning.job_options import Job
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
    (tmp_path / "real").write_text("\nold")
    (tmp_path / "link").symlink_to("real")
    write("\nnew", str(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "\nnew"


def test_a_file_that_jobgen_has_not_made_is_refused(tmp_path: Path) -> None:
    """A user's own program or batch script, by a slip; an empty file loses nothing."""
    script = Generator().script(Job("sbatch", "mi210"))
    (tmp_path / "train.py").write_text("import torch\n")
    (tmp_path / "mine.sh").write_text("#!/bin/bash\n#SBATCH -N 2\n")
    (tmp_path / "empty.sh").touch()
    for name in ("train.py", "mine.sh"):
        old = (tmp_path / name).read_bytes()
        with pytest.raises(JobgenError, match="has not made; write another name"):
            write(script, str(tmp_path / name))
        assert (tmp_path / name).read_bytes() == old
    for _ in range(2):
        write(script, str(tmp_path / "empty.sh"))
    assert (tmp_path / "empty.sh").read_text() == script


def test_links_through_folders_are_followed(tmp_path: Path) -> None:
    """An absolute one, `..` behind one, and a link to a file that does not exist yet."""
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "folder").symlink_to(tmp_path / "a/b")
    (tmp_path / "a/link").symlink_to("../a/job.sh")
    write("new", str(tmp_path / "folder/../link"))
    assert (tmp_path / "a/job.sh").read_text() == "new"
    assert (tmp_path / "a/link").is_symlink()


def test_a_circle_of_links_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "job.sh").symlink_to("job.sh")
    with pytest.raises(JobgenError, match="cannot be written: Too many levels of symbolic links"):
        write("text", str(tmp_path / "job.sh"))
    assert (tmp_path / "job.sh").is_symlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a link that belongs to others")
@pytest.mark.parametrize("mode", [0o1777, 0o777, 0o1770])
@pytest.mark.parametrize("name", ["job.sh", "folder/job.sh", "own"])
def test_a_link_of_others_in_a_shared_folder_is_refused(
    tmp_path: Path, mode: int, name: str
) -> None:
    """A stranger puts it into /tmp, where the user would write, or where the user's link leads."""
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(mode)
    (tmp_path / "home").mkdir()
    (tmp_path / "home/job.sh").write_text("mine")
    (tmp_path / "shared/job.sh").symlink_to("../home/job.sh")
    (tmp_path / "shared/folder").symlink_to("../home")
    (tmp_path / "shared/own").symlink_to("job.sh")
    for each in ("job.sh", "folder"):
        os.lchown(tmp_path / "shared" / each, 12345, 12345)
    link = tmp_path / "shared" / ("job.sh" if name == "own" else name.split("/")[0])
    with pytest.raises(JobgenError) as error:
        write("text", str(tmp_path / "shared" / name))
    assert str(error.value) == (
        f"-o {tmp_path}/shared/{name}: {link} is a link of user 12345, in a folder where others can"
        " put links; name a file in a folder of your own [output]"
    )
    assert (tmp_path / "home/job.sh").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a link that belongs to others")
@pytest.mark.parametrize(("mode", "owner"), [(0o755, 0), (0o1777, 12345)])
def test_a_link_of_others_is_followed_where_the_folder_s_owner_alone_puts_links(
    tmp_path: Path, mode: int, owner: int
) -> None:
    """As the kernel does: whoever owns the folder could replace the file anyway."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs").chmod(mode)
    os.chown(tmp_path / "theirs", owner, owner)
    (tmp_path / "theirs/link").symlink_to("job.sh")
    os.lchown(tmp_path / "theirs/link", 12345, 12345)
    write("new", str(tmp_path / "theirs/link"))
    assert (tmp_path / "theirs/job.sh").read_text() == "new"


@pytest.mark.parametrize(
    ("name", "reason"), [("a/job.sh/b", "Not a directory"), ("", "Is a directory")]
)
def test_a_file_that_cannot_be_written_is_an_error_with_the_reason(
    tmp_path: Path, name: str, reason: str
) -> None:
    write("old", str(tmp_path / "a/job.sh"))
    path = tmp_path / name
    with pytest.raises(JobgenError) as error:
        write("text", str(path))
    assert str(error.value) == f"-o {path}: cannot be written: {reason} [output]"
    assert [*tmp_path.rglob("*")] == [tmp_path / "a", tmp_path / "a/job.sh"]


def test_the_folder_of_a_file_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `build` does it, and with links of one's own on the way."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to("elsewhere")
    for name in ("jobs/two/x.sh", "link/x.sh"):
        write("new", name)
        assert (tmp_path / name).read_text() == "new"
    assert (tmp_path / "elsewhere/x.sh").stat().st_mode & 0o111


def test_after_a_failure_the_old_file_is_the_only_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "job.sh").write_text("\nold")

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(JobgenError):
        write("\nnew", str(tmp_path / "job.sh"))
    assert [path.read_text() for path in tmp_path.iterdir()] == ["\nold"]


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
