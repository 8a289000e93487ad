"""Kept scripts: what has become of them, whatever their heads say, and nothing of it is run."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
from pathlib import Path
from typing import Any
from unittest import mock

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobgen import quoting, trainers
from jobgen.cli.app import main, run_words
from jobgen.cli.commands.job_commands import output_options, run_job
from jobgen.errors import JobgenError, run_command
from jobgen.generator import Generator
from jobgen.paths import bundled, repository_or_folder
from jobgen.planner.assembly import command_words
from jobgen.planning.job_options import Job
from jobgen.planning.parser import parse_command
from jobgen.planning.plan import Plan
from jobgen.repository import check
from jobgen.repository.check import check_all
from jobgen.scripts import render
from jobgen.scripts.header import add_checksums, checksum, read_header
from tests.golden_cases import CASES, script_of
from tests.helpers import jobgen, script
from tests.test_edges import JOBS

MINE = "extends: dgx-a100\naccount: mine\n"
OURS = '{% extends "sbatch.sh.j2" %}{% block begin %}\n# ours\n{% endblock %}'


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a profile, a template and a script; the working folder is another."""
    root = tmp_path / "repository"
    for folder in (".git", "profiles", "templates", "jobs"):
        (root / folder).mkdir(parents=True)
    (root / "profiles/mine.yaml").write_text(MINE)
    (root / "templates/ours.sh.j2").write_text(OURS)
    monkeypatch.chdir(tmp_path)
    generated(root / "jobs/plain.sh", Job("sbatch", profile="mine", nodes="3"))
    return root


def generated(file: Path, job: Job) -> str:
    """Write the script for a job that jobgen is asked for in the file's repository."""
    text = Generator(repository_or_folder(file.parent)).script(job)
    file.write_text(text)
    file.chmod(0o755)
    return text


def forged(file: Path, command: str) -> None:
    """A script of jobgen's whose head says another command, with a checksum that fits."""
    lines = script(Job("sbatch", profile="dgx-a100")).split("\n")
    lines[2] = f"#   {command}"
    file.write_bytes(add_checksums("\n".join([*lines[:3], *lines[5:]]).encode(), {}))


def check_output(
    capsys: pytest.CaptureFixture[str],
    *paths: Path,
    code: int,
    fix: bool = False,
    force: bool = False,
    trust: bool = False,
) -> str:
    """What `jobgen check` writes to stdout for these paths."""
    words = [str(path) for path in paths]
    assert run_command(lambda: check_all(words, fix, force, trust)) == code
    return capsys.readouterr().out


def first(text: str) -> str:
    return text.split("\n")[0].partition(".sh: ")[2]


def test_a_script_is_current(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = repository / "jobs/plain.sh"
    assert check_output(capsys, file, code=0) == f"{file}: current\n"


@pytest.mark.parametrize("case", CASES)
def test_the_script_of_each_case_is_current(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"{case}.sh"
    file.write_text(script_of(case), encoding="utf-8")
    assert first(check_output(capsys, file, code=0)) == "current"


def test_an_edit_is_reported_and_kept(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = repository / "jobs/plain.sh"
    edited = file.read_text().replace("--nodes=3", "--nodes=4")
    file.write_text(edited)
    text = check_output(capsys, file, code=1)
    assert first(text) == "edited by hand"
    assert "\n-#SBATCH --nodes=4\n+#SBATCH --nodes=3\n" in text
    verdict = "edited by hand; --fix --force would lose the edit"
    assert first(check_output(capsys, file, code=1, fix=True)) == verdict
    assert file.read_text() == edited
    run_command(lambda: check_all([str(file)], False, False, False))
    assert "to drop an edit: jobgen check --fix --force FILE" in capsys.readouterr().err
    assert (
        first(check_output(capsys, file, code=0, fix=True, force=True))
        == "fixed: it was edited by hand"
    )
    assert first(check_output(capsys, file, code=0)) == "current"


def test_a_diff_of_much_is_no_diff(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What difflib takes grows with the square of it; what is the same does not count."""
    file = repository / "jobs/hosts.sh"
    lines = generated(file, Job("byhand", profile="mine", hosts="n[1-3000]")).split("\n")
    some = [number for number, line in enumerate(lines) if "--nnodes=" in line]
    file.write_text("\n".join([*lines[: some[-2]], "me", *lines[some[-2] + 1 :]]))
    text = check_output(capsys, file, code=1)
    assert f"\n@@ -{some[-2] - 2},7 +{some[-2] - 2},7 @@\n" in text
    assert text.count("\n") == 12
    file.write_text("\n".join(line.replace("--nnodes=", "--nnodes  ") for line in lines))
    last = check_output(capsys, file, code=1).splitlines()[1:]
    assert last == [f"  it differs from line {some[0] + 1} on, in more than 2000 lines"]


def test_a_change_of_the_profile_is_reported(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = repository / "jobs/plain.sh"
    (repository / "profiles/mine.yaml").write_text(MINE.replace("mine", "yours"))
    text = check_output(capsys, file, code=1)
    assert first(text) == "stale: the profile changed"
    assert "\n-#SBATCH --account=mine\n+#SBATCH --account=yours\n" in text
    file.chmod(0o6640)
    assert (
        first(check_output(capsys, file, code=0, fix=True))
        == "fixed: it was stale: the profile changed"
    )
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert first(check_output(capsys, file, code=0)) == "current"


def test_a_change_of_a_template_is_reported(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = repository / "jobs/ours.sh"
    generated(file, Job("sbatch", profile="mine", template="templates/ours.sh.j2"))
    assert first(check_output(capsys, file, code=0, trust=True)) == "current"
    (repository / "templates/ours.sh.j2").write_text(OURS.replace("# ours", "# theirs"))
    text = check_output(capsys, file, code=1, trust=True)
    assert first(text) == "stale: the template changed"
    assert "\n-# ours\n+# theirs\n" in text


@pytest.mark.parametrize("name", ["ours.sh.j2", "sbatch.sh.j2", "base.sh.j2"])
def test_a_template_of_a_stranger_is_not_rendered(
    name: str, repository: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """By the name in a header, in the place of jobgen's own, or as one that jobgen's extend."""
    template, jobs = repository / "templates" / name, repository / "jobs"
    option = f"templates/{name}" if name == "ours.sh.j2" else None
    generated(jobs / "theirs.sh", Job("sbatch", profile="mine", template=option))
    template.write_text("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}")
    text = check_output(capsys, jobs, code=2, fix=True)
    shown = template.relative_to(tmp_path)
    why = "a template is code, and nobody has said that this one may run"
    cure = f"add its repository to {tmp_path}/config/jobgen/trusted"
    assert f"{jobs}/theirs.sh: not checked: {shown}: {why}; read it, then use --trust, or" in text
    assert f"{cure} [untrusted]\n" in text
    if option:  # the others are checked
        assert f"{jobs}/plain.sh: current\n" in text
    (jobs / "theirs.sh").write_text((jobs / "theirs.sh").read_text() + "# mine\n")
    assert "theirs.sh: edited by hand, and not checked: " in check_output(capsys, jobs, code=2)


def test_a_path_through_a_folder_of_the_user_is_not_the_user_s(
    repository: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The command in a header may be a stranger's; its path begins with a trusted folder."""
    (tmp_path / "config/jobgen/templates").mkdir(parents=True)
    for folder in (tmp_path / "config/jobgen/templates", bundled("templates")):
        up = os.path.relpath(repository, folder)
        option = f"{folder}/{up}/templates/ours.sh.j2"
        forged(repository / "jobs/plain.sh", f"jobgen sbatch --profile mine --template {option}")
        assert "not checked" in check_output(capsys, repository / "jobs", code=2)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("{root}", 0),
        ("# ours:\n\n  {root}/..  ", 0),
        ("{root}/jobs\n{root}2\n#{root}", 2),
        ("{link}", 0),
        ("~/repository", 0),
        ("repository", 2),
    ],
)
def test_the_user_names_folders_whose_templates_are_rendered(
    line: str,
    code: int,
    repository: Path,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    file = repository / "jobs/ours.sh"
    generated(file, Job("sbatch", profile="mine", template="templates/ours.sh.j2"))
    link = tmp_path / "link"
    link.symlink_to("repository")
    (tmp_path / "config/jobgen").mkdir(parents=True)
    trusted = tmp_path / "config/jobgen/trusted"
    trusted.write_text(line.format(root=repository, link=link) + "\n")
    assert run_command(lambda: check_all([str(file)], False, False)) == code
    relative = f"jobgen: {trusted}:1:1: 'repository' is no absolute path; such as /project/jobs"
    assert capsys.readouterr().err.startswith(relative) == (line == "repository")


def test_a_change_of_the_trainer_is_reported(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, real = repository / "jobs/plain.sh", trainers.source("elastic_ddp")
    with mock.patch("jobgen.planning.program.source", return_value=f"{real}# more\n"):
        text = check_output(capsys, file, code=1)
    assert first(text) == "stale: the trainer changed"
    assert "\n+# more\n" in text


def test_a_change_of_the_machinery_is_reported(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, real = repository / "jobs/plain.sh", render.machinery
    changed = mock.patch.object(render, "machinery", lambda parts: f"{real(parts)}# more\n")
    with changed:
        text = check_output(capsys, file, code=1)
    assert first(text) == "stale: the machinery changed"
    assert text.endswith("\n+# more\n")


def test_all_changes_are_reported(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also the version, if it changed; a script that differs only in that line is current."""
    file = repository / "jobs/plain.sh"
    text = file.read_text()
    (repository / "profiles/mine.yaml").write_text(MINE.replace("mine", "yours"))
    file.write_text(
        re.sub(
            "jobgen [0-9.]+, profile (.*), template .{8}",
            r"jobgen 0.0.9, profile \1, template 12345678",
            text,
        )
    )
    line = first(check_output(capsys, file, code=1))
    assert line == "stale: the profile and the template changed; it was made by jobgen 0.0.9"
    (repository / "profiles/mine.yaml").write_text(MINE)
    assert first(check_output(capsys, file, code=0)) == "current"


# Scripts that these versions made, as they were; byhand's have no machinery.
OF_OLD_VERSIONS = {
    "local-0.1.0": "the machinery changed, and perhaps more; it was made by jobgen 0.1.0",
    "byhand-0.1.0": "it was made by jobgen 0.1.0, whose scripts were different",
    "plain-1.0.0": "the template and the machinery changed; it was made by jobgen 1.0.0",
}


@pytest.mark.parametrize("name", OF_OLD_VERSIONS)
def test_a_script_of_an_old_version_is_stale(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--fix` makes it anew. The headers of 0.1.0 do not say what a script is made of."""
    file, reason = tmp_path / f"{name}.sh", OF_OLD_VERSIONS[name]
    data = (Path(__file__).parent / f"old_scripts/{name}.sh").read_bytes()
    file.write_bytes(data + b"# mine\n")
    edited = f"edited by hand, and stale: its command was edited, or {reason}"
    assert first(check_output(capsys, file, code=1)) == edited
    file.write_bytes(data)
    assert first(check_output(capsys, file, code=1)) == f"stale: {reason}"
    assert first(check_output(capsys, file, code=0, fix=True)) == f"fixed: it was stale: {reason}"
    assert first(check_output(capsys, file, code=0)) == "current"


def test_a_checksum_that_was_edited_is_no_change_of_anything_else(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = repository / "jobs/plain.sh"
    lines = file.read_text().split("\n")
    assert lines[3].startswith("# sha256 of the other lines: ")
    file.write_text("\n".join([*lines[:3], f"{lines[3][:-1]}x", *lines[4:]]))
    assert first(check_output(capsys, file, code=1)) == "edited by hand"


def test_a_script_can_be_both_edited_and_stale(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = repository / "jobs/plain.sh"
    file.write_text(file.read_text() + "# more\n")
    (repository / "profiles/mine.yaml").write_text(MINE.replace("mine", "yours"))
    assert (
        first(check_output(capsys, file, code=1))
        == "edited by hand, and stale: its command was edited, or the profile changed"
    )


def test_a_command_that_was_edited_asks_for_another_script(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = repository / "jobs/plain.sh"
    file.write_text(file.read_text().replace("-N 3", "-N4 --time=1:00:00"))
    text = check_output(capsys, file, code=1)
    assert first(text) == "edited by hand, and stale: its command was edited"
    assert "\n+#SBATCH --nodes=4\n" in text


def test_a_script_that_can_no_longer_be_made_says_why(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, profile = repository / "jobs/plain.sh", repository / "profiles/mine.yaml"
    profile.write_text(f"{MINE}limits: {{nodes: 2}}\nnode: {{cpuz: 1}}\n")
    text = check_output(capsys, file, code=1, fix=True)
    assert first(text).startswith("no longer possible: ")
    assert "mine.yaml:4:8: unknown key `cpuz`; write `cpus: 1` [unknown-key]" in text
    profile.unlink()
    assert "no profile `mine`" in check_output(capsys, file, code=1)


def test_a_script_without_a_checksum(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = repository / "jobs/plain.sh"
    lines = file.read_text().split("\n")
    assert lines.pop(3).startswith("# sha256 of the other lines: ")
    file.write_text("\n".join(lines))
    old = "it has no checksum, like the scripts of older versions"
    assert first(check_output(capsys, file, code=1)) == f"stale: {old}"
    file.write_text("\n".join([*lines, "# more"]))
    assert first(check_output(capsys, file, code=1)) == f"stale, or edited by hand: {old}"
    check_output(capsys, file, code=1, fix=True)
    assert file.read_text().endswith("# more")


@pytest.mark.parametrize("job", [Job("sbatch", profile="dgx-a100"), CASES["byhand-eap"]])
def test_the_checksum_is_what_it_says(job: Job) -> None:
    data = script(job).encode()
    top = read_header(data)
    assert top is not None
    assert (top.checksum, top.is_edited) == (checksum(top.body), False)
    for changed in (data.replace(b"jobgen", b"Jobgen", 9)[::1], data + b"\n", data[:-1]):
        again = read_header(changed)
        assert again is None or again.is_edited


@pytest.mark.parametrize("folder", [False, True])
def test_a_link_to_another_repository_s_script_is_not_written_to(
    folder: bool, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A stranger's, and one of the user's that the stranger's profiles would change."""
    own = repository.parent / "own/sub/job.sh"
    (repository.parent / "own/.git").mkdir(parents=True)
    own.parent.mkdir()
    text = generated(own, Job("sbatch", profile="dgx-a100"))
    (repository / "profiles/dgx-a100.yaml").write_text("extends: dgx-a100\naccount: mallory\n")
    if folder:
        (repository / "link").symlink_to("../own/sub")
    else:
        (repository / "link").symlink_to("../own/sub/job.sh")
    paths = [str(repository / "link"), str(repository / "link/job.sh")][: 1 + folder]
    assert run_command(lambda: check_all(paths, True, True)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"a link out of {repository}, behind which nothing is written; fix the file" in err
    assert own.read_text() == text


def test_a_link_within_a_repository_is_followed(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "link.sh").symlink_to("jobs/plain.sh")
    (repository / "profiles/mine.yaml").write_text(MINE.replace("mine", "yours"))
    check_output(capsys, repository / "link.sh", code=0, fix=True)
    assert (repository / "link.sh").is_symlink()
    assert "--account=yours" in (repository / "jobs/plain.sh").read_text()


def test_a_folder_that_becomes_a_link_is_not_written_to(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "profiles/mine.yaml").write_text(MINE.replace("mine", "yours"))
    outside = repository.parent / "outside"
    shutil.copytree(repository / "jobs", outside)
    before, real = (outside / "plain.sh").read_text(), check.rewrite

    def late(*words: Any) -> None:
        shutil.rmtree(repository / "jobs")
        (repository / "jobs").symlink_to(outside)
        real(*words)

    monkeypatch.setattr(check, "rewrite", late)
    assert run_command(lambda: check_all([str(repository / "jobs")], True, False)) == 2
    assert "plain.sh: cannot be written: Not a directory [output]" in capsys.readouterr().err
    assert (outside / "plain.sh").read_text() == before


FORGED = {
    "jobgen sbatch --profile dgx-a100; touch pwned": "';' at character 33 is for a shell",
    "jobgen sbatch --profile dgx-a100 && touch pwned": "'&' at character",
    "jobgen sbatch --profile dgx-a100 | tee pwned": "'|' at character",
    "jobgen sbatch --profile dgx-a100 > pwned": "'>' at character",
    "jobgen sbatch --profile $(touch pwned)": "'$' at character",
    'jobgen sbatch --profile "$(touch pwned)"': "at character 25",
    "jobgen sbatch --profile `touch pwned`": "'`' at character",
    'jobgen sbatch --profile "`touch pwned`"': "at character 25",
    "jobgen sbatch --profile 'dgx-a100": "never closed",
    'jobgen sbatch --profile "dgx-a100': "never closed",
    "jobgen sbatch --profile $'dgx\\q'": "at character 25",
    "jobgen sbatch --profile dgx-a100 -- *": "'*' at character",
    "jobgen sbatch --profile dgx-a100 \\": "at character",
    "jobgen sbatch -o /etc/x --profile dgx-a100": "no option -",
    "jobgen sbatch --output=pwned --profile dgx-a100": "no option -",
    "jobgen sbatch --profile dgx-a100 --submit": "no option -",
    "jobgen sbatch --profile dgx-a100 --wait": "no option -",
    "jobgen sbatch --profile dgx-a100 --mkdir": "no option -",
    "jobgen sbatch --help": "no option -",
    "jobgen --version": "jobgen --version: no command that makes a script; one of: byhand, local",
    "jobgen check --fix .": "jobgen check: no command that makes a script",
    "jobgen trainers export elastic_ddp -o pwned": "jobgen trainers: no command",
    "jobgen interactive --profile dgx-a100": "jobgen interactive: no command",
    "jobgen ": "jobgen : no command",
    "jobgen sbatch --profile dgx-a100 --requeue=yes": "jobgen sbatch: --requeue takes no value",
    "jobgen sbatch": "--profile: no profile is named",
    "jobgen sbatch --profile": "jobgen sbatch: --profile has no value",
    "jobgen sbatch --profile dgx-a100 --template /etc/group": "--template: /etc/group is outside",
    "jobgen sbatch --profile dgx-a100 --template ../../secret": "../../secret is outside",
    "jobgen sbatch --profile dgx-a100 --template link": "--template: link is outside",
    "jobgen sbatch --profile ../../secret.yaml": "--profile: ../../secret.yaml is outside",
    "jobgen byhand --profile dgx-a100 --hosts /etc/passwd": "--hosts: /etc/passwd is outside",
    f"jobgen byhand --profile dgx-a100 --hosts '{'a[1]' * 999}'": "has 999 pairs of brackets",
    "jobgen sbatch --profile dgx-a100 --trainer ../../x": "--trainer: expected the name",
    "jobgen sbatch --profile dgx-a100 \x1b[2J": "at character",
}


@pytest.mark.parametrize("command", FORGED)
def test_a_forged_header_runs_nothing_and_is_reported(
    command: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository.parent / "secret").write_text("a secret")
    (repository / "link").symlink_to(repository.parent / "secret")
    forged(repository / "jobs/forged.sh", command)
    before = sorted(repository.parent.rglob("*"))
    text = check_output(capsys, repository / "jobs/forged.sh", code=1, fix=True)
    assert first(text).startswith("no longer possible: ")
    assert FORGED[command] in text
    assert "\x1b" not in text
    assert "a secret" not in text
    assert sorted(repository.parent.rglob("*")) == before


@pytest.mark.parametrize("error", [RecursionError, MemoryError])
def test_a_script_that_takes_more_than_python_has_does_not_end_the_others(
    error: type[Exception], repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    generated(repository / "jobs/later.sh", Job("local"))
    real = Generator.plan

    def plan(generator: Generator, job: Job) -> Plan:
        if job.profile == "mine":
            raise error
        return real(generator, job)

    with mock.patch.object(Generator, "plan", plan):
        current, other = check_output(capsys, repository / "jobs", code=1).splitlines()
        assert run_command(lambda: run_job(Job("byhand", profile="mine", hosts="a,b"), {})) == 2
    assert current.endswith("jobs/later.sh: current")
    assert "plain.sh: no longer possible: jobgen sbatch: the input " in other
    assert capsys.readouterr().err.startswith("jobgen: the input ")


def test_a_second_line_of_a_command_is_an_edit(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forged(repository / "jobs/forged.sh", "jobgen sbatch --profile dgx-a100\ntouch pwned")
    assert "\n-touch pwned\n" in check_output(capsys, repository / "jobs/forged.sh", code=1)
    assert not list(repository.parent.rglob("pwned"))


def test_other_files_are_skipped_and_counted(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = repository / "jobs"
    ours = (jobs / "plain.sh").read_bytes()
    (jobs / "by-hand.sh").write_text("#!/bin/bash\n# Generated by jobgen, once.\nsrun hostname\n")
    (jobs / "later.sh").write_bytes(b"echo\n" + ours)  # a head that is none: after a command
    (jobs / "binary").write_bytes(b"\0" * 9000 + ours)
    (jobs / "large.sh").write_bytes(b"# jobgen" + b"#" * (1 << 23))
    (jobs / "empty").write_bytes(b"")
    (jobs / "loop").symlink_to("..")
    (jobs / "link.sh").symlink_to("plain.sh")
    (jobs / ".hidden").write_bytes(b"# edited" + ours)
    (jobs / "jobgen-logs/scripts").mkdir(parents=True)  # what jobs left: copies of what has run
    (jobs / "jobgen-logs/scripts/a.sh").write_bytes(b"# edited" + ours)
    for name in (f"scripts/{'a' * 64}", "12/job", "12_3.1/job"):  # the same with --log-dir logs
        (jobs / f"logs/{name}.sh").parent.mkdir(parents=True)
        (jobs / f"logs/{name}.sh").write_bytes(b"# edited" + ours)
    for name in ("12", "12_3"):
        (jobs / f"logs/{name}.json").write_text("{}")
    (repository / ".git/plain.sh").write_bytes(b"# edited" + ours)
    os.mkfifo(jobs / "pipe")
    assert run_command(lambda: check_all([str(jobs), str(jobs / "plain.sh")], False, False)) == 0
    out, err = capsys.readouterr()
    assert out == f"{jobs / 'plain.sh'}: current\n"
    assert err == "jobgen: 1 current; 7 other files skipped\n"


def test_a_path_that_cannot_be_read_is_wrong_input(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(repository / "pipe")
    large = (repository / "jobs/plain.sh").read_bytes() + b"#" * (1 << 23)
    (repository / "large.sh").write_bytes(large)
    paths = [str(repository / name) for name in ("none.sh", "pipe", "large.sh", "jobs")]
    assert run_command(lambda: check_all(paths, False, False)) == 2
    out, err = capsys.readouterr()
    assert out == f"{repository}/jobs/plain.sh: current\n"
    assert f"{repository}/none.sh: cannot be read: No such file or directory" in err
    assert f"{repository}/pipe: not a regular file" in err
    assert f"{repository}/large.sh: a script of {len(large)} bytes; jobgen makes at most" in err


def test_wrong_usage_is_one_line() -> None:
    for words in (["check", "--force", "."], ["check", ""]):
        done = jobgen(*words)
        assert done.returncode == 2
        assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("mark", ["profiles/x.yaml", "templates/x.j2", ".git/HEAD", "jobgen.yaml"])
def test_a_script_s_repository_is_the_nearest_one(mark: str, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a/b/c").mkdir(parents=True)
    (tmp_path / "a/b/templates").mkdir()  # of something else
    assert repository_or_folder(tmp_path / "a/b/c") == tmp_path
    (tmp_path / "a" / mark).parent.mkdir(exist_ok=True)
    (tmp_path / "a" / mark).write_text("")
    assert repository_or_folder(tmp_path / "a/b/c") == tmp_path / "a"


def test_paths_in_a_command_count_from_the_repository(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "hosts").write_text("a\nb\n")
    for name, job in {
        "path": Job("sbatch", profile="./profiles/mine.yaml", program=("./train.py",)),
        "hosts": Job("byhand", profile="mine", hosts="hosts"),
    }.items():
        generated(repository / f"jobs/{name}.sh", job)
    assert check_output(capsys, repository, code=0).count(": current\n") == 3


@settings(max_examples=300, deadline=None)
@given(JOBS)
def test_the_command_in_a_header_asks_for_the_same_job(job: Job) -> None:
    line = " ".join(map(quoting.quote, command_words(job)))
    assert parse_command(quoting.split_words(line)[1:]) == job


@settings(max_examples=300, deadline=None)
@given(st.text())
def test_any_command_in_a_header_is_read_or_refused(line: str) -> None:
    with contextlib.suppress(ValueError, JobgenError):
        parse_command(quoting.split_words(line))


def test_the_command_of_each_case_is_read_again() -> None:
    for case, job in CASES.items():
        top = read_header(script_of(case).encode())
        assert top is not None
        read = parse_command(quoting.split_words(top.command)[1:])
        assert read._replace(profile=job.profile) == job


@pytest.mark.parametrize(
    "line",
    [
        "sbatch --profile mi210 -N 2 -- train.py -- -x",
        "sbatch --profile=mi210 -N2 --nodes 3 -e A=1 -eB=2 --requeue train.py --lr 4",
        "qsub --profile eap -J=x --set a=b=c --name -- -- -m x",
        "local",
        "local -",
    ],
)
def test_a_command_is_read_as_the_command_line_is(line: str) -> None:
    words = line.split()
    command = main.get_command(click.Context(main), words[0])
    with mock.patch.object(command, "callback", return_value=0) as callback:
        assert run_words(words) == 0
    fields = callback.call_args.kwargs
    for name in output_options(words[0]):
        assert fields.pop(name) is None
    assert Job(words[0], **fields) == parse_command(words)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("rm -rf", "rm: no command that makes a script; one of: byhand, local, qsub, sbatch"),
        ("", ": no command that makes a script; one of: byhand, local, qsub, sbatch"),
        (
            "x" * 99,
            f"{'x' * 80}: no command that makes a script; one of: byhand, local, qsub, sbatch",
        ),
        ("sbatch --submit", "sbatch: no option --submit of a script"),
        (f"sbatch --{'x' * 99}", f"sbatch: no option --{'x' * 78} of a script"),
        ("qsub --requeue=1", "qsub: --requeue takes no value"),
        ("local -N", "local: -N has no value"),
    ],
)
def test_a_command_that_makes_no_script_is_refused(line: str, message: str) -> None:
    with pytest.raises(JobgenError) as error:
        parse_command(line.split())
    assert str(error.value) == f"jobgen {message} [usage]"


@pytest.mark.parametrize(("name", "words"), [("a.sh", "lint"), ("b.yaml", "build --dry-run")])
def test_of_one_file_that_jobgen_has_not_made_it_says_what_is_for_it(
    name: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text("#SBATCH -N 1\n")
    done = jobgen("check", name, cwd=tmp_path)
    lines = done.stderr.decode().splitlines()
    hint = f"jobgen: no script of jobgen; for a file like this: jobgen {words} {name}"
    assert (done.returncode, lines) == (0, ["jobgen: no script; 1 other files skipped", hint])
    assert len(jobgen("check", ".", cwd=tmp_path).stderr.splitlines()) == 1
