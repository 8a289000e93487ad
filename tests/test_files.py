"""Files that nobody should have: a message, in little time; and nothing is half-written."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from jobgen import manifest, names, render, store
from jobgen.build import build_all
from jobgen.check import check_all
from jobgen.cli import main
from jobgen.errors import JobgenError, handled
from jobgen.header import head
from jobgen.job import Job
from jobgen.maker import Maker, project
from tests.helpers import jobgen, script
from tests.hostile import CORPUS

LOL = "\n".join(f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 9)}]" for n in range(1, 12))
CONTENTS = {
    "10 MB": b"# comment\n" * 1_000_000,
    "one line of 10 MB": b"a: " + b"x" * 10_000_000,
    "deep lists": b"a: " + b"[" * 100_000,
    "deep maps": b"{a: " * 100_000,
    "deep blocks": b"".join(b" " * n + b"a:\n" for n in range(1000)),
    "a bomb of aliases": b"x0: &x0 lol\n" + LOL.encode(),
    "a cycle": b"a: &a [*a]\n",
    "a tag of Python's": b"!!python/object/apply:os.system ['touch pwned']\n",
    "tags": b"a: !!python/name:os.system\nb: !!binary aGk=\nc: !local {}\n",
    "another document": b"a: 1\n---\nb: 2\n",
    "binary": bytes(range(256)) * 100,
    "nothing but NUL": b"\0" * 5000,
    "UTF-16": "scheduler: slurm\n".encode("utf-16"),
    "many unknown keys": b"".join(b"k%d: 1\n" % n for n in range(3000)),
    "a long key": b"x" * 100_000 + b": 1\n",
    "a set as a key": b"? {a: 1}\n: 2\n",
    "a line end of YAML 1.1": "description: a\u2028b\n".encode(),
    "a list": b"[]\n",
    "a number": b"1\n",
}
READERS: dict[str, Callable[[Path], object]] = {
    "profile": lambda path: store.load(str(path)),
    "manifest": lambda path: list(manifest.read(path)[1]),
}


def refused(read: Callable[[Path], object], path: Path) -> list[str]:
    with pytest.raises(JobgenError) as error:
        read(path)
    lines = str(error.value).split("\n")
    assert all(line.isprintable() and 0 < len(line) < 3000 for line in lines)
    return lines


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("content", CONTENTS)
def test_what_is_in_a_file_is_refused(
    reader: str, content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "f.yaml"
    path.write_bytes(CONTENTS[content])
    assert str(path) in refused(READERS[reader], path)[0]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_file_is_refused(reader: str, tmp_path: Path) -> None:
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    (tmp_path / "dangling.yaml").symlink_to("nowhere.yaml")
    (tmp_path / "folder.yaml").mkdir()
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "device.yaml").symlink_to("/dev/zero")
    for path in sorted(tmp_path.iterdir()):
        refused(READERS[reader], path)


@pytest.mark.parametrize("reader", READERS)
def test_a_file_that_changes_while_it_is_read(
    reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is opened once, and read once: what comes of it is one state, or an error."""
    path, real, seen = tmp_path / "f.yaml", Path.open, []

    def gone(self: Path, *args: object, **more: object) -> object:
        if self == path:
            seen.append(self)
            path.unlink()
        return real(self, *args, **more)  # type: ignore[call-overload]

    path.write_text("scheduler: slurm\n")
    monkeypatch.setattr(Path, "open", gone)
    assert "cannot be read: No such file or directory" in refused(READERS[reader], path)[0]
    assert len(seen) == 1


def test_a_manifest_s_values_are_those_of_the_job(tmp_path: Path) -> None:
    """The same as on the command line, byte for byte; braces are doubled."""
    values = [value for value in CORPUS if "\0" not in value and "\udcff" not in value]
    told = [value.replace("{", "{{").replace("}", "}}") for value in values if len(value) < 9999]
    entry = {"file": "a.sh", "program": ["x.py", *told], "env": {"X": "".join(told)}}
    path = tmp_path / "jobgen.yaml"
    path.write_text(json.dumps({"jobs": {"a": entry}}))
    (made,) = manifest.read(path)[1]
    job = made.job("sbatch")
    kept = tuple(value for value in values if len(value) < 9999)
    assert job.program == ("x.py", *kept)
    assert job.environment == (f"X={''.join(kept)}",)


def full_disk() -> None:
    """As where nothing more than this fits; a file system of its own needs root."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


@pytest.mark.parametrize("words", [["local", "-o", "job.sh"], ["build"]])
def test_a_full_disk_leaves_what_there_was(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text("old")
    text = "jobs: {a: {profile: local, file: a.sh}}\n"
    (tmp_path / "jobgen.yaml").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "jobgen", *words], cwd=tmp_path, preexec_fn=full_disk,
        capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"jobgen: ")
    assert b"File too large" in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "job.sh": "old",
        "jobgen.yaml": text,
    }


@pytest.mark.parametrize("method", ["scandir", "stat"])
def test_a_folder_that_cannot_be_read_is_said(
    method: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One that cannot be listed, or whose files cannot be looked at; root may do both."""
    (tmp_path / "jobs/closed").mkdir(parents=True)
    for name in ("jobs/a.sh", "jobs/closed/b.sh"):
        (tmp_path / name).write_text(script(Job("local", "local")))
    real = getattr(os, method)

    def denied(path: object = ".", *args: object, **more: object) -> object:
        if method == "scandir" and str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        if method == "stat" and str(path).endswith("b.sh"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *args, **more)

    monkeypatch.setattr(os, method, denied)
    real_open = os.open

    def opened(path: str, *args: int, **more: int) -> int:
        if method == "stat" and str(path).endswith("b.sh"):
            denied(path)
        return real_open(path, *args, **more)

    monkeypatch.setattr(os, "open", opened)
    assert handled(lambda: check_all([str(tmp_path / "jobs")], False, False)) == 2
    said = capsys.readouterr()
    assert "a.sh: current" in said.out
    assert "closed" in said.err
    assert "Permission denied" in said.err
    assert "1 current, 1 unreadable" in said.err


ENDLESS = {
    "{% for a in range(9**5) %}{% for b in range(9**5) %}{% endfor %}{% endfor %}": "than 0.2 s",
    "{% for a in range(10 ** 9) %}{% endfor %}": "Range too big",
    "{{ ('x' * 10 ** 10) | raw }}": "too much memory",
    "{{ ('x' * 2000000) | raw }}": "a script of 2000001 bytes; at most 1048576",
    "{{ ('é' * 600000) | raw }}": "a script of 1200001 bytes; at most 1048576",
    # Jinja tries what is constant while it compiles, and takes an error for no constant.
    "{% if ('a' * 9000000) | unique | list %}{% endif %}{% for a in range(99999) %}"
    "{% for b in range(99999) %}{% endfor %}{% endfor %}": "it takes more than 0.2 s",
    "{{ '%9999999999d' | format(1) | raw }}": "too much memory",
    "{{ 10 ** (10 ** 8) }}": "a power of more than 4096 bits",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}": "recursion",
    "{% set n = namespace(x='x') %}{% for a in range(99) %}{% set n.x = n.x ~ n.x %}{% endfor %}": (
        "too much memory"
    ),
    "{% include '../../../../../../etc/passwd' %}": "and there is none",
    "{% include '/etc/passwd' %}": "and there is none",
    "{% include 'bundled//etc/passwd' %}": "and there is none",
    "{% include 'bundled/../pyproject.toml' %}": "and there is none",
    "{{ ''.__class__.__mro__ }}": "unsafe",
    "{{ '\\ud800' | raw }}": "surrogates not allowed",
}


@pytest.mark.parametrize("text", ENDLESS)
def test_a_template_ends(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "SECONDS", 0.2)
    monkeypatch.setattr(render, "MEMORY", 1 << 28)
    monkeypatch.setattr(render, "LARGEST", 1 << 20)
    template = tmp_path / "t.j2"
    template.write_text(text + "\n")
    with pytest.raises(JobgenError) as error:
        script(Job("local", "local", template=str(template)))
    assert ENDLESS[text] in str(error.value)
    before = resource.getrlimit(resource.RLIMIT_AS)
    assert before == (resource.RLIM_INFINITY, resource.RLIM_INFINITY) or before[0] > 1 << 30


def test_a_template_that_is_no_file_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / ".git").mkdir()
    text = script(Job("local", "local")).replace("jobgen local", "jobgen local --template pipe", 1)
    (tmp_path / "job.sh").write_text(text)
    done = jobgen("check", "job.sh", cwd=tmp_path)
    assert b"no longer possible: pipe: no regular file [template]" in done.stdout
    done = jobgen("local", "--template", "/dev/zero", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        b"jobgen: /dev/zero: more than 1048576 bytes; is it a template? [template]\n",
    )


def test_a_project_s_file_in_the_place_of_jobgen_s_is_said(tmp_path: Path) -> None:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "templates").mkdir()
    (tmp_path / "profiles/mi210.yaml").write_text("extends: mi210\n")
    (tmp_path / "templates/container.sh.j2").write_text("container() { :; }\n")
    done = jobgen("sbatch", "--profile", "mi210", cwd=tmp_path)
    assert done.stderr.decode() == (
        "jobgen: profiles/mi210.yaml is used instead of jobgen's own mi210\n"
        "jobgen: templates/container.sh.j2 is used instead of jobgen's own container\n"
    )
    (tmp_path / "profiles/mi210.yaml").rename(tmp_path / "profiles/ours.yaml")
    (tmp_path / "templates/container.sh.j2").unlink()
    done = jobgen("sbatch", "--profile", "ours", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("profiles/a.yaml", None),
        ("profiles/a.yaml", "extends: ../../secret.yaml\n"),
        ("templates/sbatch.sh.j2", None),
        ("templates/sbatch.sh.j2", "{% include '../../secret.yaml' %}"),
    ],
)
def test_a_stranger_s_repository_shows_no_file_outside_of_it(
    name: str, text: str | None, tmp_path: Path
) -> None:
    """Under `check` and `build`; its profiles and templates may be links, or name other files."""
    (tmp_path / "secret.yaml").write_text("password 4711\n")
    root = tmp_path / "repository"
    (root / "profiles").mkdir(parents=True)
    (root / "templates").mkdir()
    (root / "profiles/a.yaml").write_text("scheduler: slurm\n")
    (root / name).unlink(missing_ok=True)
    if text:
        (root / name).write_text(text)
    else:
        (root / name).symlink_to("../../secret.yaml")
    with pytest.raises(JobgenError) as error:
        Maker(root, confined=True).script(Job("sbatch", "a"))
    assert "4711" not in str(error.value)
    assert "outside" in str(error.value) or "there is none" in str(error.value)


@pytest.mark.parametrize("option", ["hosts", "template"])
def test_a_folder_called_home_leads_nowhere_else(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is looked at is what is opened, also where HOME is the repository."""
    (tmp_path / "secret").write_text("password{4711")
    root = tmp_path / "repository"
    root.mkdir()
    (root / "~").symlink_to("..")
    monkeypatch.setenv("HOME", str(root))
    job = Job("byhand", "local", hosts="a")._replace(**{option: "~/secret"})
    with pytest.raises(JobgenError) as error:
        Maker(root, confined=True).script(job)
    assert f"--{option}: ~/secret is outside of" in str(error.value)


def test_a_linked_folder_shows_no_names_outside_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / "other/clients").mkdir(parents=True)
    (tmp_path / "other/clients/secret.yaml").write_text("")
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository/profiles").symlink_to("../other")
    with pytest.raises(JobgenError) as error:
        Maker(tmp_path / "repository", confined=True).script(Job("sbatch", "zzz"))
    assert "mi210" in str(error.value)
    assert "clients" not in str(error.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's folder takes root to make")
def test_what_another_user_has_put_above_is_no_repository(tmp_path: Path) -> None:
    """As anyone can into /tmp; what the folder's own owner has made counts."""
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/sbatch.sh.j2").write_text("")
    mine = tmp_path / "mine"
    mine.mkdir()
    assert project(mine) == tmp_path
    os.chown(tmp_path / "templates/sbatch.sh.j2", 54321, 54321)
    assert project(mine) == mine
    os.chown(mine, 54321, 54321)
    assert project(mine) == tmp_path


def test_a_profile_with_thousands_of_slips_is_said_in_few_lines(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("".join(f"k{n}: 1\n" for n in range(9000)))
    done = jobgen("sbatch", "--profile", "p.yaml", cwd=tmp_path)
    *_, last = lines = done.stderr.decode().splitlines()
    assert (done.returncode, len(lines)) == (2, 51)
    assert last == "jobgen: and 8950 more problems"


def test_prune_leaves_the_scripts_of_another_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the same folder, by the same pattern; and those that the command line has made."""
    monkeypatch.chdir(tmp_path)
    text = "defaults: {profile: local, file: 'jobs/{name}.sh'}\njobs: {"
    Path("one.yaml").write_text(text + "a: {}, b: {}}\n")
    Path("two.yaml").write_text(text + "c: {}, d: {}}\n")
    for name in ("one.yaml", "two.yaml"):
        assert handled(lambda name=name: build_all(name, True, False, False)) == 0
    assert main(["local", "-o", "jobs/own.sh"], "jobgen", standalone_mode=False) == 0
    Path("one.yaml").write_text(text + "a: {}}\n")
    assert handled(lambda: build_all("one.yaml", True, True, False)) == 0
    assert sorted(os.listdir("jobs")) == ["a.sh", "c.sh", "d.sh", "own.sh"]
    assert handled(lambda: check_all(["jobs"], False, False)) == 0


def test_a_head_of_a_stranger_s_takes_no_time() -> None:
    """A pattern that tries every place would take most of a minute for such a line."""
    assert head(b"# Lines to paste," + b" made by jobgen" * 60_000 + b"\n") is None


def test_a_step_that_nothing_breaks_off_is_ended_by_the_kernel(tmp_path: Path) -> None:
    steps = "{% set a = [1] * 1000 %}{% set b = [1] * 1000 %}"
    steps += "{% set a = [a] * 1000 %}{% set b = [b] * 1000 %}" * 3
    (tmp_path / "t.j2").write_text(steps + "{{ 'x' if a == b else 'y' }}\n")
    code = "from jobgen import cli, errors, render; render.LAST_SECONDS = 0.5\n"
    code += "errors.handled(lambda: cli.answer(['local', '--template', 't.j2']))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, stderr=-1, check=False)
    assert done.stderr == (
        b"jobgen: t.j2: it takes more than 0.5 s; a simpler template [template]\n"
    )


def test_a_template_that_crashes_python_is_a_line(tmp_path: Path) -> None:
    """The hash of a tuple nested a million deep overflows C's stack; the other scripts go on."""
    nested = "{% set n.x = " + "(" * 40 + "n.x" + ",)" * 40 + " %}"
    text = "{% set n = namespace(x=()) %}{% for a in range(25000) %}" + nested + "{% endfor %}"
    (tmp_path / "jobgen.yaml").write_text("")
    (tmp_path / "t.j2").write_text(text + "{{ 'x' if n.x in {} else 'y' }}\n")
    ours = script(Job("local", "local"))
    for name, command in (("a", "local --template t.j2"), ("b", "local"), ("c", "local -N 3")):
        (tmp_path / f"{name}.sh").write_text(ours.replace("jobgen local", f"jobgen {command}", 1))
    # Without an end of the stack, which some clusters have, nothing would overflow.
    words = ["bash", "-c", 'ulimit -s 8192; exec "$@"', "-", sys.executable, "-m", "jobgen"]
    done = subprocess.run([*words, "check", "."], cwd=tmp_path, capture_output=True, check=False)
    crash = b"t.j2: it crashes Python (Segmentation fault); a simpler template [template]\n"
    assert b"a.sh: edited by hand, and no longer possible: " + crash in done.stdout
    assert b"\nb.sh: current\nc.sh: edited by hand" in done.stdout
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)


def test_a_profile_s_name_is_no_path(tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("token: 4711\n")
    project = tmp_path / "project"
    (project / "profiles").mkdir(parents=True)
    (project / "profiles/p.yaml").write_text("scheduler: local\nextends: ../../secret\n")
    (project / "job.sh").write_text(
        script(Job("local", "local")).replace("--profile local", "--profile p")
    )
    done = jobgen("check", str(project / "job.sh"))
    assert b"token" not in done.stdout
    assert b"`../../secret` is a path, and no name" in done.stdout


@pytest.mark.parametrize("command", ["check", "lint"])
def test_folders_without_end_are_said(tmp_path: Path, command: str) -> None:
    deep = tmp_path
    for _ in range(70):
        deep /= "d"
    deep.mkdir(parents=True)
    done = jobgen(command, str(tmp_path))
    assert (done.returncode, b"more than 64 folders deep" in done.stderr) == (2, True)


def test_a_folder_of_profiles_without_end_takes_no_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be a link to all that there is; hints of slips and completion look through it."""
    (tmp_path / "other/deep").mkdir(parents=True)
    (tmp_path / "other/a.yaml").write_text("")
    (tmp_path / "other/deep/b.yaml").write_text("")
    (tmp_path / "profiles").symlink_to("other")
    deepest = tmp_path / "other" / "/".join(["d"] * 70)  # Python gives up at about 1000
    deepest.mkdir(parents=True)
    (deepest / "c.yaml").write_text("")
    found = names.profiles(tmp_path).keys()
    assert {"a", "deep/b", "mi210"} <= found
    assert not any(name.endswith("/c") for name in found)
    monkeypatch.setattr(names, "MOST", 1)
    assert {"a", "deep/b"} & names.profiles(tmp_path).keys() == {"a"}
