"""Copies of code: which files they have, their names, and what a job says of a changed one."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobgen.code_store import code_files
from jobgen.code_store.store import keep, read_code, store_folder
from jobgen.errors import JobgenError
from jobgen.generator import Generator
from jobgen.paths import bundled
from jobgen.planning.job_options import Job

CHECK = """
fail() { echo "jobgen: $*"; exit 1; }
workspace=$1
. "$2"
"""


def write(folder: Path, **files: str) -> Path:
    """A folder with files; __ in a name is a /."""
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def git(folder: Path, *words: str) -> None:
    options = ("-c", "protocol.file.allow=always", "-c", "user.name=n", "-c", "user.email=e@e.org")
    subprocess.run(["git", "-C", folder, *options, *words], check=True, capture_output=True)


def names(folder: Path) -> list[str]:
    return [os.fsdecode(each.path) for each in read_code(folder).files]


def kept(code: Path, store: Path) -> Path:
    """The copy of a folder's code."""
    found = read_code(code)
    keep(found, store)
    return store / found.name


def checked(copy: Path) -> str:
    """What the job's script says of a copy; "" if it is what it was."""
    words = [
        "bash",
        "-euo",
        "pipefail",
        "-c",
        CHECK,
        "-",
        copy,
        bundled("templates") / "machinery/job/code.sh",
    ]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def refusal(act: Callable[[], object]) -> str:
    with pytest.raises(JobgenError) as caught:
        act()
    return str(caught.value)


def test_what_git_tracks_and_does_not_ignore(tmp_path: Path) -> None:
    code = write(tmp_path / "code", a="1", sub__b="2", out="3", new="4", gone="5")
    (code / ".gitignore").write_text("out\n")
    git(code, "init", "-q")
    git(code, "add", "a", "sub", "gone", ".gitignore")
    (code / "gone").unlink()
    (code / "a").write_text("edited")
    write(code, **{"jobgen-logs__1__stderr": "x", ".jobgen__store__x__a": "x"})
    assert names(code) == [".gitignore", "a", "new", "sub/b"]
    assert (kept(code, tmp_path / "store") / "a").read_text() == "edited"
    assert names(code / "sub") == ["b"]


def test_submodules(tmp_path: Path) -> None:
    other = write(tmp_path / "other", x="1")
    git(other, "init", "-q")
    git(other, "add", ".")
    git(other, "commit", "-qm", "x")
    code = write(tmp_path / "code", a="1")
    git(code, "init", "-q")
    git(code, "submodule", "add", "-q", str(other), "lib")
    assert names(code) == [".gitmodules", "a", "lib/x"]
    git(code, "commit", "-qm", "x")
    git(code, "submodule", "deinit", "-f", "lib")
    found = refusal(lambda: read_code(code))
    assert "the submodule lib is not checked out; git submodule update --init" in found


def test_elsewhere_all_but_what_is_left_out(tmp_path: Path) -> None:
    code = write(tmp_path, a="1", data__x="2", sub__data__y="3", sub__b_log="4", sub__c="5")
    (code / "sub/__pycache__").mkdir()
    (code / "sub/__pycache__/c.pyc").write_text("")
    (code / ".jobgenignore").write_text("# data\n\n/data\n*_log\n")
    assert names(code) == [".jobgenignore", "a", "sub/c", "sub/data/y"]
    (code / ".jobgenignore").write_text("data/\n")
    assert names(code) == [".jobgenignore", "a", "sub/b_log", "sub/c"]


def test_links_modes_and_names(tmp_path: Path) -> None:
    code = write(tmp_path / "code", a="1", sub__run="#!/bin/sh", **{"b c\\d": "2"})
    (code / "sub/run").chmod(0o755)
    (code / "link").symlink_to("sub")
    (code / "sub/up").symlink_to("../a")
    Path(os.fsdecode(bytes(code) + b"/caf\xe9")).write_text("4")
    copy = kept(code, tmp_path / "store")
    assert (copy / "link").readlink() == Path("sub")
    assert (copy / "sub/up").read_text() == "1"
    assert os.access(copy / "sub/run", os.X_OK)
    assert not os.access(copy / "a", os.X_OK)
    assert Path(os.fsdecode(bytes(copy) + b"/caf\xe9")).read_text() == "4"
    assert checked(copy) == ""
    (code / "out").symlink_to("../elsewhere")
    assert "out is a link out of the folder; leave it out" in refusal(lambda: read_code(code))


def test_the_same_files_have_the_same_copy(tmp_path: Path) -> None:
    first, second = (write(tmp_path / name, a="1", sub__b="2") for name in ("first", "second"))
    store = tmp_path / "store"
    assert kept(first, store) == kept(second, store)
    assert [each.name for each in store.iterdir()] == [read_code(first).name]
    (second / "sub/b").chmod(0o755)
    assert kept(first, store) != kept(second, store)


def test_a_script_that_jobgen_made_is_no_code(tmp_path: Path) -> None:
    code = write(tmp_path, a="1")
    name = read_code(code).name
    script = Generator().script(Job("sbatch", "mi210", program=("true",)))
    (code / "job.sh").write_text(script)
    assert read_code(code).name == name
    (code / "job.sh").write_text("#!/bin/bash\necho other\n")
    assert read_code(code).name != name


def test_a_folder_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = write(tmp_path, a="1" * 3_000_000, data__x="2" * 9_000_000, data__y="2" * 9_000_000)
    monkeypatch.setattr(code_files, "CODE_BYTES", 20_000_000)
    found = refusal(lambda: read_code(code))
    shown = "21 MB in 3 files are too much for code: data/ (18 MB, 2 files), a (3 MB, 1 files)"
    assert f"{shown}; leave out what is no code: a line each in .jobgenignore" in found
    monkeypatch.setattr(code_files, "CODE_BYTES", 30_000_000)
    monkeypatch.setattr(code_files, "CODE_FILES", 2)
    assert "data/ (18 MB, 2 files), a (3 MB, 1 files)" in refusal(lambda: read_code(code))


def test_a_pointer_of_git_lfs(tmp_path: Path) -> None:
    code = write(tmp_path, w="version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 3\n")
    assert "w is a pointer of Git LFS, and not the file; git lfs pull" in refusal(
        lambda: read_code(code)
    )


def test_a_store_of_others(tmp_path: Path) -> None:
    code, store = write(tmp_path / "code", a="1"), tmp_path / "store"
    store.mkdir()
    store.chmod(0o777)
    found = refusal(lambda: keep(read_code(code), store))
    assert f"another user can write in the store {store}" in found
    assert not list(store.iterdir())


def test_a_store_that_cannot_be_written(tmp_path: Path) -> None:
    code = write(tmp_path / "code", a="1")
    write(tmp_path, store="a file")
    found = refusal(lambda: keep(read_code(code), tmp_path / "store"))
    assert f"{tmp_path}/store: File exists" in found


def test_code_that_changes_while_it_is_copied(tmp_path: Path) -> None:
    code, store = write(tmp_path / "code", a="1"), tmp_path / "store"
    found = read_code(code)
    (code / "a").write_text("2")
    assert "a changes while it is copied" in refusal(lambda: keep(found, store))
    assert not list(store.iterdir())


def test_the_folder_of_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRATCH", "/scratch/me")
    assert store_folder("$PWD/.jobgen/store", tmp_path) == tmp_path / ".jobgen/store"
    assert store_folder("${SCRATCH}/x", tmp_path) == Path("/scratch/me/x")
    monkeypatch.delenv("SCRATCH")
    assert "$SCRATCH is not set here" in refusal(lambda: store_folder("$SCRATCH/x", tmp_path))


FILES = {
    f"{folder}f{number}": f"text {number}" for folder in ("", "a__", "a__b__") for number in (1, 2)
}
PATHS = [name.replace("__", "/") for name in FILES]


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_change_of_a_copy_is_seen_and_named(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("code")
    copy = kept(write(folder / "code", **FILES), folder / "store")
    assert checked(copy) == ""
    for inner, _, _ in os.walk(copy):
        os.chmod(inner, 0o755)
    name = data.draw(st.sampled_from(PATHS))
    kind = data.draw(st.sampled_from(["edit", "remove", "rename", "add", "mode", "link"]))
    path = copy / name
    if kind == "edit":
        path.chmod(0o644)
        path.write_text(data.draw(st.text(alphabet="ab\n", max_size=3)))
    elif kind == "remove":
        path.unlink()
    elif kind == "rename":
        path.rename(path.with_name("other"))
    elif kind == "add":
        path.with_name("added.py").write_text("")
    elif kind == "mode":
        path.chmod(0o755)
    else:
        path.unlink()
        path.symlink_to("f9")
    said = checked(copy)
    shown = str(Path(name).with_name("added.py")) if kind == "add" else name
    assert said.startswith("jobgen: the copy of the code is not what was submitted"), said
    assert shown in said
    shutil.rmtree(folder)


def test_no_copy(tmp_path: Path) -> None:
    copy = kept(write(tmp_path / "code", a="1"), tmp_path / "store")
    assert f"there is no copy of the code, {copy}x" in checked(copy.with_name(f"{copy.name}x"))
