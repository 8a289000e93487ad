"""Harmful files: each is one short message, after little time, and no file is written in part."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest

from jobgen.cli.app import run_words
from jobgen.errors import JobgenError, run_command
from jobgen.generator import Generator, find_profiles
from jobgen.paths import repository_or_folder
from jobgen.planning.job_options import Job
from jobgen.profiles import search
from jobgen.repository.build import BuildOptions, build_all
from jobgen.repository.check import check_all
from jobgen.repository.manifest import read_manifest
from jobgen.repository.matrix import Script
from jobgen.scripts import render
from jobgen.scripts.header import read_header
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
    "profile": lambda path: find_profiles().load(str(path)),
    "manifest": lambda path: list(read_manifest(path)[1]),
}


def refusal(read: Callable[[Path], object], path: Path) -> list[str]:
    """The lines of the message that refuses a file."""
    with pytest.raises(JobgenError) as error:
        read(path)
    lines = str(error.value).split("\n")
    assert all(line.isprintable() and 0 < len(line) < 3000 for line in lines)
    return lines


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("content", CONTENTS)
def test_a_file_of_harmful_text_is_refused(
    reader: str, content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "f.yaml"
    path.write_bytes(CONTENTS[content])
    assert str(path) in refusal(READERS[reader], path)[0]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("reader", READERS)
def test_a_path_that_is_no_regular_file_is_refused(reader: str, tmp_path: Path) -> None:
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    (tmp_path / "dangling.yaml").symlink_to("nowhere.yaml")
    (tmp_path / "folder.yaml").mkdir()
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "device.yaml").symlink_to("/dev/zero")
    for path in sorted(tmp_path.iterdir()):
        refusal(READERS[reader], path)


@pytest.mark.parametrize("reader", READERS)
def test_a_file_is_opened_once(
    reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it changes meanwhile, the result is one of its states, or an error."""
    path, real_open, opened = tmp_path / "f.yaml", Path.open, []

    def remove_and_open(self: Path, *args: object, **options: object) -> object:
        if self == path:
            opened.append(self)
            path.unlink()
        return real_open(self, *args, **options)  # type: ignore[call-overload]

    path.write_text("scheduler: slurm\n")
    monkeypatch.setattr(Path, "open", remove_and_open)
    assert "cannot be read: No such file or directory" in refusal(READERS[reader], path)[0]
    assert len(opened) == 1


def test_a_job_gets_the_values_of_a_manifest_unchanged(tmp_path: Path) -> None:
    """As from the command line, byte for byte; braces are doubled."""
    values = [value for value in CORPUS if "\0" not in value and "\udcff" not in value]
    values = [value for value in values if len(value) < 9999]
    texts = [value.replace("{", "{{").replace("}", "}}") for value in values]
    entry = {"file": "a.sh", "program": ["x.py", *texts], "env": {"X": "".join(texts)}}
    path = tmp_path / "jobgen.yaml"
    path.write_text(json.dumps({"jobs": {"a": entry}}))
    (entry_script,) = read_manifest(path)[1]
    assert isinstance(entry_script, Script)
    job = entry_script.job("sbatch")
    assert job.program == ("x.py", *values)
    assert job.environment == (f"X={''.join(values)}",)


def full_disk() -> None:
    """Let no file be larger than 1000 bytes: a file system of that size takes root to make."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


@pytest.mark.parametrize("words", [["local", "-o", "job.sh"], ["build"]])
def test_on_a_full_disk_the_old_files_remain(words: list[str], tmp_path: Path) -> None:
    old = Generator().script(Job("local", "local")) + "# old\n"
    (tmp_path / "job.sh").write_text(old)
    text = "jobs: {a: {profile: local, file: a.sh}}\n"
    (tmp_path / "jobgen.yaml").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "jobgen", *words],
        cwd=tmp_path,
        preexec_fn=full_disk,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"jobgen: ")
    assert b"File too large" in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "job.sh": old,
        "jobgen.yaml": text,
    }


@pytest.mark.parametrize("method", ["scandir", "stat"])
def test_a_folder_that_cannot_be_read_is_reported(
    method: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It cannot be listed, or its files cannot be opened; root may do both."""
    (tmp_path / "jobs/closed").mkdir(parents=True)
    for name in ("jobs/a.sh", "jobs/closed/b.sh"):
        (tmp_path / name).write_text(script(Job("local", "local")))
    real, real_open = getattr(os, method), os.open

    def deny(path: object = ".", *args: object, **options: object) -> object:
        if method == "scandir" and str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        if method == "stat" and str(path).endswith("b.sh"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *args, **options)

    def deny_open(path: str, *args: int, **options: int) -> int:
        if method == "stat" and str(path).endswith("b.sh"):
            deny(path)
        return real_open(path, *args, **options)

    monkeypatch.setattr(os, method, deny)
    monkeypatch.setattr(os, "open", deny_open)
    assert run_command(lambda: check_all([str(tmp_path / "jobs")], False, False)) == 2
    output = capsys.readouterr()
    assert "a.sh: current" in output.out
    assert "closed" in output.err
    assert "Permission denied" in output.err
    assert "1 current, 1 unreadable" in output.err


# What a template cannot do, whoever wrote it.
REFUSED = {
    "{% for a in range(10 ** 9) %}{% endfor %}": "Range too big",
    "{{ ('x' * 2000000) | raw }}": "a script of 2000001 bytes; at most 1048576",
    "{{ ('é' * 600000) | raw }}": "a script of 1200001 bytes; at most 1048576",
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}": "recursion",
    "{% include '../../../../../../etc/passwd' %}": "and there is none",
    "{% include '/etc/passwd' %}": "and there is none",
    "{% include 'bundled//etc/passwd' %}": "and there is none",
    "{% include 'bundled/../pyproject.toml' %}": "and there is none",
    "{{ ''.__class__.__mro__ }}": "unsafe",
    "{{ plan.__init__.__globals__ }}": "unsafe",
    "{% set _ = plan.request.directives.append(1) %}": "has no attribute 'append'",
    "{{ '\\ud800' | raw }}": "surrogates not allowed",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_template_runs_no_python(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who runs `jobgen sbatch` in a clone renders its templates."""
    template = tmp_path / "t.j2"
    template.write_text(text + "\n")
    monkeypatch.setattr(render, "SCRIPT_BYTES", 1 << 20)
    with pytest.raises(JobgenError) as error:
        script(Job("local", "local", template=str(template)))
    assert REFUSED[text] in str(error.value)


def test_a_pipe_or_a_device_is_no_template(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / ".git").mkdir()
    text = script(Job("local", "local")).replace("jobgen local", "jobgen local --template pipe", 1)
    (tmp_path / "job.sh").write_text(text)
    done = jobgen("check", "job.sh", cwd=tmp_path)
    assert b"no longer possible: pipe: not a regular file [template]" in done.stdout
    done = jobgen("local", "--template", "/dev/zero", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        b"jobgen: /dev/zero: more than 1048576 bytes; is it a template? [template]\n",
    )


def test_a_file_of_a_project_that_replaces_jobgen_s_own_is_reported(tmp_path: Path) -> None:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "templates").mkdir()
    (tmp_path / "profiles/mi210.yaml").write_text("extends: mi210\n")
    (tmp_path / "templates/containers").mkdir()
    template = tmp_path / "templates/containers/podman.sh.j2"
    template.write_text("  :\n")
    done = jobgen("sbatch", "--profile", "mi210", cwd=tmp_path)
    assert done.stderr.decode() == (
        "jobgen: profiles/mi210.yaml is used instead of jobgen's own mi210\n"
        "jobgen: templates/containers/podman.sh.j2 is used instead of jobgen's own podman\n"
    )
    (tmp_path / "profiles/mi210.yaml").rename(tmp_path / "profiles/ours.yaml")
    template.unlink()
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
def test_a_stranger_s_repository_shows_no_file_outside_it(
    name: str, text: str | None, tmp_path: Path
) -> None:
    """In `check` and `build`: its profiles and templates may be links, or name other files."""
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
        Generator(root, confined=True, trusted=True).script(Job("sbatch", "a"))
    assert "4711" not in str(error.value)
    assert "outside" in str(error.value) or "there is none" in str(error.value)


@pytest.mark.parametrize("option", ["hosts", "template"])
def test_a_folder_called_tilde_leads_nowhere_else(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path that is checked is the one that is opened, also if HOME is the repository."""
    (tmp_path / "secret").write_text("password{4711")
    root = tmp_path / "repository"
    root.mkdir()
    (root / "~").symlink_to("..")
    monkeypatch.setenv("HOME", str(root))
    job = Job("byhand", "local", hosts="a")._replace(**{option: "~/secret"})
    with pytest.raises(JobgenError) as error:
        Generator(root, confined=True).script(job)
    assert f"--{option}: ~/secret is outside {root}" in str(error.value)


def test_a_linked_folder_shows_no_names_outside_the_repository(tmp_path: Path) -> None:
    (tmp_path / "other/clients").mkdir(parents=True)
    (tmp_path / "other/clients/secret.yaml").write_text("")
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository/profiles").symlink_to("../other")
    with pytest.raises(JobgenError) as error:
        Generator(tmp_path / "repository", confined=True).script(Job("sbatch", "zzz"))
    assert "no profile `zzz`" in str(error.value)
    assert "clients" not in str(error.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's folder takes root to make")
def test_files_of_another_user_make_no_repository(tmp_path: Path) -> None:
    """Anybody may put some into /tmp; those of the folder's owner count."""
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/sbatch.sh.j2").write_text("")
    mine = tmp_path / "mine"
    mine.mkdir()
    assert repository_or_folder(mine) == tmp_path
    os.chown(tmp_path / "templates/sbatch.sh.j2", 54321, 54321)
    assert repository_or_folder(mine) == mine
    os.chown(mine, 54321, 54321)
    assert repository_or_folder(mine) == tmp_path


def test_a_profile_with_thousands_of_mistakes_is_a_short_message(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("".join(f"k{n}: 1\n" for n in range(9000)))
    done = jobgen("sbatch", "--profile", "p.yaml", cwd=tmp_path)
    *_, last = lines = done.stderr.decode().splitlines()
    assert (done.returncode, len(lines)) == (2, 51)
    assert last == "jobgen: and 8951 more problems"


def test_prune_removes_no_script_of_another_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the same folder, by the same pattern; nor one that the command line has made."""
    monkeypatch.chdir(tmp_path)
    text = "defaults: {profile: local, file: 'jobs/{name}.sh'}\njobs: {"
    Path("one.yaml").write_text(text + "a: {}, b: {}}\n")
    Path("two.yaml").write_text(text + "c: {}, d: {}}\n")
    for name in ("one.yaml", "two.yaml"):
        assert run_command(lambda name=name: build_all(name, BuildOptions(prune=True))) == 0
    assert run_words(["local", "-o", "jobs/own.sh"]) == 0
    Path("one.yaml").write_text(text + "a: {}}\n")
    assert run_command(lambda: build_all("one.yaml", BuildOptions(prune=True, force=True))) == 0
    assert sorted(os.listdir("jobs")) == ["a.sh", "c.sh", "d.sh", "own.sh"]
    assert run_command(lambda: check_all(["jobs"], False, False)) == 0


def test_a_forged_header_is_read_in_no_time() -> None:
    """A pattern that tries every place would take most of a minute for such a line."""
    start = process_time()
    assert read_header(b"# Lines to paste," + b" made by jobgen" * 60_000 + b"\n") is None
    assert process_time() - start < 5


def test_the_name_of_a_profile_is_no_path(tmp_path: Path) -> None:
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
def test_folders_without_end_are_reported(tmp_path: Path, command: str) -> None:
    deep = tmp_path
    for _ in range(70):
        deep /= "d"
    deep.mkdir(parents=True)
    done = jobgen(command, str(tmp_path))
    assert (done.returncode, b"more than 64 folders deep" in done.stderr) == (2, True)


def test_a_folder_of_profiles_without_end_is_searched_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be a link to /; hints and completion search it."""
    (tmp_path / "other/deep").mkdir(parents=True)
    (tmp_path / "other/a.yaml").write_text("")
    (tmp_path / "other/deep/b.yaml").write_text("")
    (tmp_path / "profiles").symlink_to("other")
    deepest = tmp_path / "other" / "/".join(["d"] * 70)
    deepest.mkdir(parents=True)
    (deepest / "c.yaml").write_text("")
    names = search.profile_files(tmp_path).keys()
    assert {"a", "deep/b", "mi210"} <= names
    assert not any(name.endswith("/c") for name in names)
    monkeypatch.setattr(search, "PROFILE_NAMES", 1)
    assert {"a", "deep/b"} & search.profile_files(tmp_path).keys() == {"a"}
