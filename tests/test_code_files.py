"""Which files of a folder are its code, and which folders are refused."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest

from jobgen.code_store import code_files
from jobgen.code_store.code import read_code
from jobgen.code_store.store import note_of
from tests.code_folders import checked, copy_of, git, names, refusal, work_tree, write

LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 3\n"


def test_what_git_tracks_and_does_not_ignore(tmp_path: Path) -> None:
    code = work_tree(tmp_path / "code", a="1", sub__b="2", gone="5", ignored="6")
    write(code, **{".gitignore": "out\nignored\n"}, out="3", new="4", a="edited", sub__new="7")
    (code / "gone").unlink()
    write(code, train_12="x")
    (code / "sub/__pycache__").mkdir()
    (code / "sub/__pycache__/b.pyc").write_text("")
    assert names(code) == [".gitignore", "a", "ignored", "new", "sub/b", "sub/new", "train_12"]
    assert (copy_of(code, tmp_path / "store") / "a").read_text() == "edited"


def test_what_jobs_write_is_no_code(tmp_path: Path) -> None:
    code = write(work_tree(tmp_path / "tracked", **{"a-1.out": "1"}), **{"train-12.out": "x"})
    other = write(tmp_path / "other", a="1", **{"train-12_3.out": "x", "train.o12": "x"})
    for folder in (code, other):
        write(folder, **{"jobgen-logs__1__stderr": "x", "sub__jobgen-logs__2.json": "x"})
        write(folder, **{".jobgen__store__x": "x", ".jobgen.12__job.sh": "x"})
    assert (names(code), names(other)) == (["a-1.out"], ["a"])
    write(other, store__code__x="x", logs__1__stderr="x")
    assert [*read_code(other, [other / "store", other / "logs"]).files] == [b"a"]


def test_a_folder_inside_a_work_tree(tmp_path: Path) -> None:
    tree = work_tree(tmp_path / "tree", a="1", src__b="2", src__deep__c="3")
    write(tree, src__new="4", **{".gitignore": "deep\n"})
    assert names(tree / "src") == ["b", "deep/c", "new"]
    write(tree, build__x="1", **{".gitignore": "build\n"})
    assert "build has no files that are code" in refusal(lambda: read_code(tree / "build"))


def test_submodules(tmp_path: Path) -> None:
    work_tree(tmp_path / "inner", y="1")
    other = work_tree(tmp_path / "other", x="1")
    git(other, "submodule", "add", "-q", str(tmp_path / "inner"), "inner")
    git(other, "commit", "-qm", "x")
    code = work_tree(tmp_path / "code", a="1")
    git(code, "submodule", "add", "-q", str(other), "lib")
    git(code, "commit", "-qm", "x")
    git(code, "submodule", "add", "-q", str(other), "second")
    git(code, "commit", "-qm", "x")
    found = refusal(lambda: read_code(code))
    assert "lib/inner is not checked out" in found
    assert "second/inner is not checked out" in found
    write(code, **{".jobgenignore": "second\n"})
    git(code, "submodule", "update", "-q", "--init", "--recursive")
    write(code, lib__new="1")
    expected = ["lib/.gitmodules", "lib/inner/y", "lib/new", "lib/x"]
    assert names(code) == [".gitmodules", ".jobgenignore", "a", *expected]
    git(code, "submodule", "deinit", "-f", "lib")
    found = refusal(lambda: read_code(code))
    assert "the submodule lib is not checked out; git submodule update --init --rec" in found
    write(code, **{".jobgenignore": "/lib\n/second\n"})
    assert names(code) == [".gitmodules", ".jobgenignore", "a"]


def test_a_repository_inside_that_is_no_submodule(tmp_path: Path) -> None:
    code = work_tree(tmp_path / "code", a="1")
    write(work_tree(code / "inner", x="1"), new="2")
    assert names(code) == ["a", "inner/new", "inner/x"]


def test_a_folder_in_the_place_of_a_tracked_file(tmp_path: Path) -> None:
    code = work_tree(tmp_path / "code", a="1", b="2")
    (code / "a").unlink()
    write(code, a__x="3")
    assert names(code) == ["a/x", "b"]


def test_a_link_in_the_place_of_a_tracked_folder(tmp_path: Path) -> None:
    code = work_tree(tmp_path / "code", a__x="1", b__x="2")
    shutil.rmtree(code / "a")
    (code / "a").symlink_to("b")
    assert names(code) == ["a", "b/x"]
    assert checked(copy_of(code, tmp_path / "store")) == ""


def test_a_sparse_checkout(tmp_path: Path) -> None:
    code = work_tree(tmp_path / "code", top="1", here__a="2", away__b="3")
    git(code, "sparse-checkout", "init", "--cone")
    git(code, "sparse-checkout", "set", "here")
    assert names(code) == ["here/a", "top"]


def test_a_hook_of_git_names_another_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = work_tree(tmp_path / "code", a="1")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "none"))
    assert names(code) == ["a"]


def test_a_setting_of_the_repository_runs_no_program(tmp_path: Path) -> None:
    code = work_tree(tmp_path / "code", a="1")
    git(code, "config", "core.fsmonitor", f"touch {tmp_path / 'ran'}; false")
    copy_of(code, tmp_path / "store")
    assert not (tmp_path / "ran").exists()


def test_a_work_tree_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = work_tree(tmp_path / "code", a="1", **{".gitignore": "b\n"})
    write(code, b="2")
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    found = refusal(lambda: read_code(code))
    assert "git ls-files: detected dubious ownership" in found
    assert f"git says: git config --global --add safe.directory {code}" in found


def test_no_git_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, code = write(tmp_path / "plain", a="1"), work_tree(tmp_path / "code", sub__a="1")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert names(plain) == ["a"]
    found = refusal(lambda: read_code(code / "sub"))
    assert f"{code}/sub is in a work tree of git, and there is no `git` here" in found


def test_a_repository_that_git_cannot_read(tmp_path: Path) -> None:
    code = write(tmp_path / "code", a="1", **{".git": "gitdir: /nowhere\n"})
    assert "git ls-files: not a git repository: /nowhere" in refusal(lambda: read_code(code))


def test_elsewhere_all_but_what_is_left_out(tmp_path: Path) -> None:
    code = write(tmp_path, a="1", data__x="2", sub__data__y="3", sub__b_log="4", sub__c="5")
    write(code, **{".jobgenignore": "# data\n\n/data\n*_log\n"})
    assert names(code) == [".jobgenignore", "a", "sub/c", "sub/data/y"]
    write(code, **{".jobgenignore": "data/\n"})
    assert names(code) == [".jobgenignore", "a", "sub/b_log", "sub/c"]
    write(code, **{".jobgenignore": "**/data\nsub/b*\n"})
    assert names(code) == [".jobgenignore", "a", "sub/c"]
    write(code, **{".jobgenignore": "data\n!data/x\n"})
    assert ".jobgenignore:2:1: a line with ! brings nothing" in refusal(lambda: read_code(code))


def test_links(tmp_path: Path) -> None:
    code = write(tmp_path / "code", a="1", sub__b="2")
    for name, target in {"folder": "sub", "sub/up": "../a", "gone": "nothing", "me": "me"}.items():
        (code / name).symlink_to(target)
    copy = copy_of(code, tmp_path / "store")
    assert [(copy / name).readlink() for name in ("folder", "gone")] == [
        Path("sub"),
        Path("nothing"),
    ]
    assert (copy / "sub/up").read_text() == "1"
    assert checked(copy) == ""


@pytest.mark.parametrize("target", ["../elsewhere", "{code}/a", "/etc/passwd", "..", "up/../../x"])
def test_links_out_of_the_folder(tmp_path: Path, target: str) -> None:
    code = write(tmp_path / "code", a="1", deep__er__b="2")
    (code / "deep/up").symlink_to("..")  # by this one, another link leads out
    link = "deep/out" if target.startswith("up/") else "out"
    (code / link).symlink_to(target.format(code=code))
    found = refusal(lambda: read_code(code))
    assert f"{link} is a link out of the folder" in found
    assert f"leave it out: a line /{link} in .jobgenignore" in found


def test_modes_and_names(tmp_path: Path) -> None:
    code = write(tmp_path / "code", sub__run="#!/bin/sh", **{"b c\\d": "2", " -x'\"$": "3"})
    (code / "sub/run").chmod(0o700)
    Path(os.fsdecode(bytes(code) + b"/caf\xe9")).write_text("4")
    copy = copy_of(code, tmp_path / "store")
    assert Path(os.fsdecode(bytes(copy) + b"/caf\xe9")).read_text() == "4"
    assert checked(copy) == ""


MODES = {"key": 0o600, "data": 0o640, "text": 0o664, "sub/run": 0o755, "sub/own": 0o700}
OF_COPY = {"key": 0o400, "data": 0o440, "text": 0o444, "sub/run": 0o555, "sub/own": 0o500}


def test_what_is_closed_to_others_stays_so(tmp_path: Path) -> None:
    """A copy is closed as a whole; in it, nothing is open that is closed in the original."""
    code = write(tmp_path / "code", **{name.replace("/", "__"): name for name in MODES})
    for name, mode in {**MODES, "sub": 0o750}.items():
        (code / name).chmod(mode)
    umask = os.umask(0)
    copy = copy_of(code, tmp_path / "store")
    os.umask(umask)
    assert {each.stat().st_mode & 0o777 for each in copy.parents[:2]} == {0o755}
    found = {name: (copy / name).stat().st_mode & 0o777 for name in (*OF_COPY, "sub", ".")}
    assert found == {**OF_COPY, "sub": 0o550, ".": 0o500}
    assert note_of(copy).stat().st_mode & 0o777 == 0o600
    for name, mode in MODES.items():  # with another umask
        (code / name).chmod(mode & 0o700)
    assert copy_of(code, tmp_path / "store") == copy
    assert checked(copy) == ""


@pytest.mark.parametrize("in_git", [False, True])
def test_names_and_links_that_no_list_can_have(tmp_path: Path, in_git: bool) -> None:
    code = write(tmp_path / "code", **{"a\nb": "1"})
    if in_git:
        git(code, "init", "-q")
    assert "'a\\nb' has a control character in its name; give it another" in refusal(
        lambda: read_code(code)
    )
    (code / "a\nb").unlink()
    (code / "link").symlink_to("x\ny")
    assert "link is a link to a name with a control character" in refusal(lambda: read_code(code))


def test_what_is_no_file(tmp_path: Path) -> None:
    code = write(tmp_path / "code", a="1")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(code / "socket"))
    assert "socket is no file, no folder and no link; leave" in refusal(lambda: read_code(code))
    assert "a: no folder; name the folder" in refusal(lambda: read_code(code / "a"))
    assert "there is no such folder" in refusal(lambda: read_code(code / "b"))
    shutil.rmtree(code)
    assert "has no files that are code" in refusal(lambda: read_code(write(code)))


def test_a_pointer_of_git_lfs(tmp_path: Path) -> None:
    code = write(tmp_path, w=LFS, **{"x[1]": LFS})
    found = refusal(lambda: read_code(code))
    assert "w is a pointer of Git LFS, and not the file; git lfs pull, or leave it out" in found
    assert "a line /x[[]1] in .jobgenignore" in found
    write(code, **{".jobgenignore": "w\n/x[[]1]\n"})
    assert names(code) == [".jobgenignore"]


def test_a_folder_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = write(tmp_path, a="1" * 3_000_000, src__data__x="2" * 9_000_000, src__data__y="2")
    write(code, src__b="", **{f"src__runs__{number}": "x" for number in range(6)})
    monkeypatch.setattr(code_files, "CODE_BYTES", 10_000_000)
    found = refusal(lambda: read_code(code))
    assert (
        "12 MB in 10 files are too much for code: /src/data/x (9.0 MB, 1 file), /a (3.0 MB" in found
    )
    assert found.count(", 1 file)") == 5
    assert "at most 10 MB and 20000 files; leave out what is no code: a line for each" in found
    monkeypatch.setattr(code_files, "CODE_BYTES", 30_000_000)
    monkeypatch.setattr(code_files, "CODE_FILES", 5)
    found = refusal(lambda: read_code(code))
    assert (
        "more than 10 files are too much for code: /src/runs/ (1 kB, 6 files), /src/data/ (9.0 MB"
        in found
    )
    write(code, **{".jobgenignore": "/src\n"})
    assert names(code) == [".jobgenignore", "a"]


def test_the_whole_machine_is_no_code() -> None:
    assert "/ is the whole machine; name the folder" in refusal(lambda: read_code(Path("/")))
