"""The limit of `jobgen mcp`: whatever a path is made of, it leads to no file outside."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jobgen import paths
from jobgen.agents.limit import Limit

OWN, OTHER = "own", "other"
# What paths are made of: names in both folders, links of the folder, and ways out.
PARTS = [
    "a",
    "b",
    "file",
    "out",
    "file_out",
    "in",
    "round",
    "chain",
    "..",
    ".",
    "",
    "folder",
    "far",
]
ROOTS = [
    "",
    "/",
    "{top}/",
    "{top}/folder/",
    "{top}/far/",
    "../",
    "./",
    "//",
    "/proc/self/cwd/",
    "~/",
]


@pytest.fixture(scope="module")
def top() -> Iterator[Path]:
    """A folder with files of OWN, and one beside it with files of OTHER; links lead everywhere."""
    with TemporaryDirectory(dir="/var/tmp") as name:
        made = Path(name)
        for place, text in (("folder", OWN), ("far", OTHER)):
            for folder in ("", "a", "a/b", "b"):
                (made / place / folder).mkdir(parents=True, exist_ok=True)
                (made / place / folder / "file").write_text(text)
        links = {
            "out": "../far", "file_out": "../far/file", "in": "a/b", "round": "../folder",
            "chain": "a/up/out/a", "a/up": "..", "a/out": f"{made}/far",
            "a/b/file_out": "../../out/file",
        }  # fmt: skip
        for link, target in links.items():
            (made / "folder" / link).symlink_to(target)
        yield made


names = st.builds(lambda root, parts: root + "/".join(parts), st.sampled_from(ROOTS),
                  st.lists(st.sampled_from(PARTS), min_size=1, max_size=7))  # fmt: skip


@settings(max_examples=500)
@given(name=names)
@example(name="chain/file")
@example(name="a/b/file_out")
@example(name="{top}/folder/../far/file")
@example(name="out/../far/file")
def test_what_may_be_opened_is_in_the_folder(top: Path, name: str) -> None:
    """What the kernel opens decides, not how the path looks."""
    limit, path = Limit(top / "folder"), name.replace("{top}", str(top))
    before = os.getcwd()
    os.chdir(top / "folder")
    try:
        text = Path(path).read_text(encoding="utf-8") if os.path.isfile(path) else ""
        if may_open(limit, path):
            assert text in (OWN, "")
        else:
            assert text != OWN
        if text and not name.startswith("/proc"):
            assert limit.is_outside(path) == (text != OWN)
        with pytest.raises(PermissionError, match="without --allow-submit"):
            limit.check("open", (path, "w", os.O_WRONLY))
    finally:
        os.chdir(before)


def may_open(limit: Limit, path: str) -> bool:
    try:
        limit.check("open", (path, "r", os.O_RDONLY))
    except PermissionError:
        return False
    return True


def test_a_link_before_two_dots_leads_elsewhere(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name, this path is one of the user's profiles; it is in a copy of another folder."""
    config = top / "config"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config))
    own = config / "jobgen/profiles/own.yaml"
    depth = len((top / "folder/evil").parts) - 1
    deep = (top / "copy").joinpath("d", *["d"] * (depth - 1))
    deep.mkdir(parents=True)
    (top / "folder/evil").symlink_to(deep)
    path = f"{top}/folder/evil/{'../' * depth}{str(own).lstrip('/')}"
    assert os.path.normpath(path) == str(own)
    other = top / "copy" / str(own).lstrip("/")
    other.parent.mkdir(parents=True)
    other.write_text(OTHER)
    assert Path(path).read_text() == OTHER
    assert not may_open(Limit(top / "folder"), path)
    assert may_open(Limit(top / "folder"), str(own))


@pytest.mark.parametrize("event", ["os.listdir", "os.scandir"])
def test_other_folders_are_not_listed(top: Path, event: str) -> None:
    limit = Limit(top / "folder")
    for name in ("", "a", "in", "round"):
        limit.check(event, (str(top / "folder" / name),))
    limit.check(event, (3,))  # a descriptor of what was opened
    for name in ("out", "..", "a/out", "chain", "../far/a"):
        with pytest.raises(PermissionError):
            limit.check(event, (str(top / "folder" / name),))
    with pytest.raises(PermissionError):
        limit.check(event, (os.fsencode(top / "far"),))


@pytest.mark.parametrize("event", ["os.remove", "os.mkdir", "os.rename", "os.symlink", "os.chmod"])
def test_no_file_is_changed(top: Path, event: str) -> None:
    limit = Limit(top / "folder")
    with pytest.raises(PermissionError):
        limit.check(event, (str(top / "folder/new"), str(top / "folder/other"), -1))


def test_the_folder_may_be_in_that_of_temporary_files(tmp_path: Path) -> None:
    limit = Limit(tmp_path)
    with pytest.raises(PermissionError):
        limit.check("open", (str(tmp_path / "new"), "w", os.O_WRONLY))


def test_what_each_run_reads_may_be_read(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's profiles may be links into a folder of dotfiles."""
    config = top / "far/config"
    (config / "jobgen").mkdir(parents=True, exist_ok=True)
    (config / "dotfiles").mkdir(exist_ok=True)
    if not (config / "jobgen/profiles").is_symlink():
        (config / "jobgen/profiles").symlink_to("../dotfiles")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config))
    limit = Limit(top / "folder")
    for path in (config / "jobgen/profiles/own.yaml", Path(paths.__file__), Path(os.__file__)):
        assert may_open(limit, str(path))
    for path in (config / "other.yaml", config / "jobgen/profiles/../../far/file"):
        assert not may_open(limit, str(path))


def test_modules_of_the_folder_are_not_imported(tmp_path: Path) -> None:
    for name in ("yaml", "click", "json", "re", "jinja2", "jobgen", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('hostile')")
    words = [sys.executable, "-m", "jobgen.agents.limit", "limited", str(tmp_path), "rules"]
    done = subprocess.run(words, cwd="/", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["far/file", "far/a.py", "far"])
def test_a_command_itself_opens_nothing_else(top: Path, name: str) -> None:
    """Where the server has not looked at the words before."""
    (top / "far/a.py").write_text(OTHER)
    folder = str(top / "folder")
    words = [sys.executable, "-m", "jobgen.agents.limit", "limited", folder, "why", f"../{name}"]
    done = subprocess.run(words, cwd="/", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "it is outside of" in done.stderr


def test_a_search_upwards_ends_at_the_folder(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (top / ".git").mkdir(exist_ok=True)
    folder = (top / "folder/a/b").resolve()
    assert paths.repository(folder) == top.resolve()
    monkeypatch.setattr(paths, "_highest", [Path("/")])
    paths.stay_below((top / "folder").resolve())
    assert paths.repository(folder) is None
    assert [*paths.upward(folder)] == [folder, *list(folder.parents)[:2]]
