"""Copies of code: their names, how they are made, and what a job says of a changed one."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

import pytest

import jobgen
from jobgen.code_store.code import read_code
from jobgen.code_store.store import keep, note_of, store_folder
from jobgen.generator import Generator
from jobgen.planning.job_options import Job
from tests.code_folders import checked, copy_of, names, refusal, work_tree, write

FILES = {
    f"{folder}f{number}": f"text {number}" for folder in ("", "a__", "a__b__") for number in (1, 2)
}
IN_MOUNTS = ["unshare", "--mount", "bash", "-euc"]  # with file systems of its own


def test_the_same_files_have_the_same_copy(tmp_path: Path) -> None:
    first, second = (write(tmp_path / name, a="1", sub__b="2") for name in ("first", "second"))
    store = tmp_path / "store"
    assert copy_of(first, store) == copy_of(second, store)
    name = read_code(first).name
    assert sorted(each.name for each in (store / "code").iterdir()) == [name, f"{name}.json"]
    (second / "sub/b").chmod(0o755)
    assert copy_of(first, store) != copy_of(second, store)
    copy = copy_of(first, store)
    assert read_code(copy).name == copy.name  # a copy of a copy


def test_where_a_copy_is_from(tmp_path: Path) -> None:
    store = tmp_path / "store"
    plain = copy_of(write(tmp_path / "plain", a="1"), store)
    assert json.loads(note_of(plain).read_text()) == {"folder": str(tmp_path / "plain")}
    code = work_tree(tmp_path / "code", src__a="2", b="3")
    note_of(plain).unlink()
    copy_of(tmp_path / "plain", store)
    assert note_of(plain).exists()
    commit = subprocess.run(
        ["git", "-C", code, "rev-parse", "HEAD"], capture_output=True, text=True
    )
    note = json.loads(note_of(copy_of(code / "src", store)).read_text())
    assert note == {"folder": f"{code}/src", "commit": commit.stdout.strip(), "differs": False}
    write(code, b="other")
    assert not json.loads(note_of(copy_of(code / "src", store)).read_text())["differs"]
    assert json.loads(note_of(copy_of(code, store)).read_text())["differs"]


def test_git_does_not_see_the_default_store(tmp_path: Path) -> None:
    code = work_tree(tmp_path / "code", a="1")
    copy_of(code, code / ".jobgen/store")
    seen = subprocess.run(["git", "-C", code, "status", "-s"], capture_output=True, text=True)
    assert (seen.stdout, names(code)) == ("", ["a"])
    write(code, **{".jobgen__keeper-0.py": ""})  # a manifest's, which scripts read
    status = ["git", "-C", code, "status", "-s", "-uall"]
    seen = subprocess.run(status, capture_output=True, text=True)
    assert seen.stdout == "?? .jobgen/keeper-0.py\n"
    copy_of(code, code / "own")
    assert (names(code), (code / "own/.gitignore").read_text()) == (["a"], "*\n")


def test_git_does_not_see_a_store_beside_keepers(tmp_path: Path) -> None:
    code = work_tree(tmp_path / "code", a="1", **{".jobgen__keeper-0.py": ""})
    copy_of(code, code / ".jobgen/store")
    seen = subprocess.run(["git", "-C", code, "status", "-s"], capture_output=True, text=True)
    assert seen.stdout == ""


def test_a_store_behind_a_link(tmp_path: Path) -> None:
    code = write(tmp_path / "code", a="1")
    (tmp_path / "disk").mkdir()
    (tmp_path / "scratch").symlink_to("disk")
    assert note_of(copy_of(code, tmp_path / "scratch/jobgen")).is_file()


def test_a_script_that_jobgen_made_is_no_code(tmp_path: Path) -> None:
    code = write(tmp_path, a="1")
    name = read_code(code).name
    script = Generator().script(Job("sbatch", "mi210", program=("true",)))
    (code / "job.sh").write_text(script)
    assert read_code(code).name == name
    (code / "job.sh").write_text("#!/bin/bash\necho other\n")
    assert read_code(code).name != name


def test_a_copy_that_was_damaged_is_made_again(tmp_path: Path) -> None:
    code = write(tmp_path / "code", **FILES)
    copy = copy_of(code, tmp_path / "store")
    for damage in (
        "rm a/b/f1",
        "touch f9",
        "touch a/f9",
        "echo >> f2",
        "echo 1234567 > a/f1",
        "chmod 755 f2",
        "ln -sf f1 f2",
    ):
        subprocess.run(["bash", "-c", f"chmod -R u+w . && {damage}"], cwd=copy, check=True)
        assert "is not what was submitted" in checked(copy)
        assert copy_of(code, tmp_path / "store") == copy
        assert checked(copy) == ""
    assert len(os.listdir(copy.parent)) == 2


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o755])
@pytest.mark.parametrize("place", ["store", "store/code", "."])
def test_a_store_that_a_stranger_can_write(tmp_path: Path, place: str, mode: int) -> None:
    code, top = write(tmp_path / "code", a="1"), tmp_path / "the top"
    (top / "store/code").mkdir(parents=True)
    (top / place).chmod(mode)
    if mode == 0o755 and place != ".":
        if os.geteuid():
            pytest.skip("only root gives a folder to another user")
        os.chown(top / place, 1234, 1234)
    elif mode == 0o1777 and place == ".":  # as in /tmp
        keep(read_code(code), top / "store")
        return
    elif mode == 0o755:
        return
    found = refusal(lambda: keep(read_code(code), top / "store"))
    assert f"another user can write in {top / place}, and change the code of your jobs" in found
    assert (f"chmod o-w '{top / place}'" in found) == (mode != 0o1777)
    assert not list((top / "store/code").iterdir())


def test_a_store_in_the_place_of_a_file(tmp_path: Path) -> None:
    code = write(tmp_path / "code", a="1")
    write(tmp_path, store="a file")
    found = refusal(lambda: keep(read_code(code), tmp_path / "store"))
    assert f"software.store: {tmp_path}/store: File exists; name another folder" in found


def test_code_that_changes_while_it_is_copied(tmp_path: Path) -> None:
    code, store = write(tmp_path / "code", a="1"), tmp_path / "store"
    found = read_code(code)
    (code / "a").write_text("2")
    assert "a changes while it is copied" in refusal(lambda: keep(found, store))
    assert not list((store / "code").iterdir())


def submitted(folder: Path, *words: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "jobgen",
        "sbatch",
        "--profile",
        "mi210",
        "--code",
        str(folder),
        *words,
    ]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts file systems")
@pytest.mark.parametrize(
    ("mount", "expected"),
    [
        ("mount -t tmpfs -o size=64k,mode=755 tmpfs store", "No space left on device"),
        ("mount -t tmpfs -o ro,mode=755 tmpfs store", "Read-only file system"),
    ],
)
def test_a_store_that_takes_no_copy(tmp_path: Path, mount: str, expected: str) -> None:
    write(tmp_path / "code", a="1" * 300_000, b="2")
    (tmp_path / "store").mkdir()
    options = ("--set", f"software.store={tmp_path}/store", "-o", "job.sh", "--", "b.py")
    (tmp_path / "code/b.py").write_text("")
    line = f'{mount}; "$@" || true; ls -A store/code || true'
    words = [*IN_MOUNTS, line, "-", *submitted(tmp_path / "code", *options)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert f"{expected}; name another folder" in done.stderr, done
    assert done.stdout == ""  # nothing half-written
    assert not (tmp_path / "job.sh").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts file systems")
def test_a_read_only_store_that_has_the_copy(tmp_path: Path) -> None:
    write(tmp_path / "code", **{"b.py": "2"})
    options = ("--set", f"software.store={tmp_path}/store", "--", "b.py")
    words = submitted(tmp_path / "code", *options)
    first = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    line = 'mount --bind store store; mount -o remount,ro,bind store; exec "$@"'
    again = subprocess.run(
        [*IN_MOUNTS, line, "-", *words], cwd=tmp_path, capture_output=True, text=True
    )
    assert again.stdout == first.stdout, again.stderr


def test_two_submissions_at_once(tmp_path: Path) -> None:
    code = write(tmp_path / "code", **{f"part{number}.py": "x" * number for number in range(300)})
    words = submitted(code, "--set", f"software.store={tmp_path}/store", "--", "part1.py")
    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(subprocess.check_output, words, cwd=tmp_path) for _ in range(4)]
    assert len({each.result() for each in runs}) == 1
    copy = tmp_path / "store/code" / read_code(code).name
    assert checked(copy) == ""
    assert len(os.listdir(copy.parent)) == 2


def test_the_folder_of_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRATCH", "/scratch/me")
    monkeypatch.setenv("HOME", "/home/me")
    assert store_folder("$PWD/.jobgen/store", tmp_path) == tmp_path / ".jobgen/store"
    assert store_folder("${SCRATCH}/x", tmp_path) == Path("/scratch/me/x")
    assert store_folder("~/x", tmp_path) == Path("/home/me/x")
    assert store_folder("$SCRATCH", tmp_path, {"SCRATCH": "/other"}) == Path("/other")
    assert store_folder("$$a$SCRATCH", tmp_path) == Path("$a/scratch/me")
    monkeypatch.delenv("SCRATCH")
    assert "$SCRATCH is not set here" in refusal(lambda: store_folder("$SCRATCH/x", tmp_path))


CHANGES = {
    "edit": 'echo >> "$f"',
    "the same size": 'f=a/f1; tr t x < "$f" > new; cat new > "$f"; rm new',
    "remove": 'rm "$f"',
    "rename": 'mv "$f" "$f.other"',
    "add": 'touch "$f.added"',
    "mode": 'chmod 755 "$f"',
    "link": 'ln -sf f9 "$f"',
}


@pytest.mark.parametrize("name", ["f1", "a/b/f2"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_any_change_of_a_copy_is_seen_and_named(tmp_path: Path, change: str, name: str) -> None:
    copy = copy_of(write(tmp_path / "code", **FILES), tmp_path / "store")
    subprocess.run(["bash", "-c", f"chmod -R u+w .; f={name}; {change}"], cwd=copy, check=True)
    answer = checked(copy)
    assert answer.startswith("jobgen: n1: the copy of the code is not what was submitted"), answer
    named = "a/f1" if "new" in change else name
    assert f"{copy}: {named}" in answer
    shutil.rmtree(copy)
    assert f"there is no copy of the code, {copy}: make the script again" in checked(copy)


def test_a_copy_without_its_list_is_read_all_the_same(tmp_path: Path) -> None:
    """Where old files are removed, it is the first: no job reads it unless the copy is damaged."""
    copy = copy_of(write(tmp_path / "code", **FILES), tmp_path / "store")
    subprocess.run(["bash", "-c", "chmod u+w . && rm .jobgen-files"], cwd=copy, check=True)
    assert checked(copy) == ""
    (copy / "new").touch()
    assert f"is not what was submitted, {copy}: its list is gone: make" in checked(copy)


@pytest.mark.skipif(os.geteuid() != 0, reason="root reads all, and another user does not")
def test_a_copy_that_cannot_be_read(tmp_path: Path) -> None:
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        copy = copy_of(write(tmp_path / "code", **FILES), Path(folder) / "store")
        copy.chmod(0o555)
        (copy / "a/f1").chmod(0o000)
        (copy / "a/b").chmod(0o000)
        answer = checked(copy, ("setpriv", "--reuid=1234", "--clear-groups"))
        copy.chmod(0o500)
        closed = checked(copy, ("setpriv", "--reuid=1234", "--clear-groups"))
    assert f"is not what was submitted, {copy}: a/b/f1 a/b/f2 a/f1" in answer
    assert f"there is no copy of the code, {copy}" in closed


def test_the_program_is_in_the_copy(tmp_path: Path) -> None:
    folder = write(tmp_path, **{"src__train.py": "", "src__run.sh": "", "src__pkg__x.py": ""})
    (folder / "link").symlink_to("src")

    def program(*words: str, code: str = "src") -> str:
        return jobgen.plan("mi210", words, code=code, folder=folder).program.name

    for path in ("src/train.py", "train.py", "link/train.py", str(folder / "src/train.py")):
        assert program(path) == "train.py"
    assert program("src/train.py", code=".") == "src/train.py"
    assert (program("./src/run.sh"), program("/usr/bin/env", "x")) == ("./run.sh", "/usr/bin/env")
    assert program("-m", "pkg.x") == "pkg.x"
    assert "'other.py' is not in the code of" in refusal(lambda: program("other.py"))
    path = {"PYTHONPATH": "src"}
    plan = jobgen.plan("mi210", ["-m", "pkg.x"], code=".", folder=folder, environment=path)
    assert plan.program.name == "pkg.x"
    found = refusal(lambda: program("-m", "pkg.x", code="."))
    assert "-m pkg.x is in the folder src of the code" in found
    found = refusal(lambda: program("python3", "-u", "train.py"))
    assert "python3 would run 'train.py' of the working folder, no copy; write -- train.py" in found
    assert "chmod +x, and -- ./run.sh" in refusal(lambda: program("bash", "src/run.sh"))
    assert not (folder / ".jobgen").exists()  # a plan keeps nothing


def test_folders_of_the_code_in_a_variable(tmp_path: Path) -> None:
    write(tmp_path, train="", src__x="")
    values = "src:$PWD/src:/opt/x:$HOME/y:other"
    script = jobgen.script(
        "mi210", ["train"], code=".", folder=tmp_path, environment={"PYTHONPATH": values}
    )
    line = next(each for each in script.splitlines() if "export PYTHONPATH=" in each)
    expected = '"$workspace/src:$workspace/src:/opt/x:$HOME/y:other"'
    assert line.strip() == f"export PYTHONPATH={expected}"


def test_a_store_whose_folder_is_not_there(tmp_path: Path) -> None:
    code = write(tmp_path / "code", a="1")
    found = refusal(lambda: keep(read_code(code), tmp_path / "no/such"))
    assert f"{tmp_path}/no is not there; mkdir -p {tmp_path}/no, or name another folder" in found
    assert sorted(each.name for each in tmp_path.iterdir()) == ["code"]


def test_what_was_copied_is_told_once(tmp_path: Path) -> None:
    code = write(tmp_path / "code", a="1", b="2" * 2000)
    found = read_code(code)
    assert keep(found, tmp_path / "store").startswith("code: 2 files, 3 kB, in ")
    assert keep(found, tmp_path / "store") == ""


def test_a_program_that_is_here_and_in_the_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, code__train="1", here__train="2")
    monkeypatch.chdir(tmp_path / "here")

    def advice(program: str) -> str:
        generator, job = Generator(), Job("sbatch", "mi210", program=(program,), code="../code")
        return "\n".join(map(str, generator.advice(job, generator.plan(job))))

    assert "train of ../code runs; the file of this name here is another one" in advice("./train")
    assert "another one" not in advice("../code/train")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", _refused)
        assert "another one" not in advice("./train")
    write(tmp_path / "here", train="1")
    assert "another one" not in advice("./train")


def _refused(path: Path) -> NoReturn:
    raise PermissionError(errno.EACCES, "Permission denied", str(path))


def test_a_file_with_the_name_of_a_module(tmp_path: Path) -> None:
    names = ("train", "random.py", "array__a.py", "src__random.py", "test.py")
    write(tmp_path, **dict.fromkeys(names, ""))
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").touch()
    generator, job = Generator(), Job("sbatch", "mi210", program=("./train",), code=str(tmp_path))
    found = map(str, generator.advice(job, generator.plan(job)))
    hidden = [each.split()[1] for each in found if " hides a module " in each]
    assert hidden == ["random.py", "torch/__init__.py"]


def test_the_api_keeps_the_copy(tmp_path: Path) -> None:
    write(tmp_path, **{"train.py": ""})
    (tmp_path / "own").mkdir()
    text = jobgen.script("mi210", ["train.py"], code=".", folder=tmp_path)
    (copy,) = (tmp_path / ".jobgen/store/code").glob("*[0-9a-f]")
    assert f'workspace="$PWD/.jobgen/store/code"/{copy.name}\n' in text
    jobgen.script(
        "mi210",
        ["train.py"],
        code=".",
        folder=tmp_path,
        set_values={"software.store": "$OWN/store"},
        environ={"OWN": str(tmp_path / "own")},
    )
    assert (tmp_path / "own/store/code" / copy.name).is_dir()


@pytest.mark.parametrize(
    ("command", "program", "expected"),
    [
        ("sbatch", (), "a packaged trainer is a part of the script"),
        ("byhand", ("a.py",), "commands by hand start at once, and run no copy of the code"),
    ],
)
def test_jobs_that_run_no_copy(command: str, program: tuple[str, ...], expected: str) -> None:
    job = Job(command, "mi210", program=program, set_values=("software.code=.",))
    job = job._replace(hosts="a") if command == "byhand" else job._replace(code=".")
    assert expected in refusal(lambda: Generator().plan(job))


def test_a_page_has_no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "emscripten")
    job = Job("sbatch", "mi210", program=("a.py",), code=".")
    assert "--code: a web page cannot read" in refusal(lambda: Generator().plan(job))
