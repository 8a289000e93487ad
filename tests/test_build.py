"""The scripts of a manifest: all of them or none are written, and only those that changed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from jobgen.errors import Mark, Problem, nearest_hint, run_command
from jobgen.quoting import quote
from jobgen.repository import build as build_module
from jobgen.repository import files
from jobgen.repository.build import BuildOptions, build_all
from jobgen.repository.check import check_all
from jobgen.scripts.header import Header, read_header
from tests.helpers import jobgen

MANIFEST = """\
defaults:
  profile: dgx-a100
  file: jobs/{name}-{nodes}n-lr{lr}.sh
  env: {A: "1"}
jobs:
  bert:
    matrix: {nodes: [1, 2, 4], lr: [0.1, 1e-3]}
    program: [train.py, --lr, "{lr}", "{{x}}"]
    env: {B: "rate {lr}"}
  "eval":
    profile: eap
    time: 1:30:00
    requeue: true
    file: jobs/{name}.sh
    set: {request.nodes: 3}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "jobgen.yaml").write_text(MANIFEST)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def build(
    file: str = "jobgen.yaml",
    prune: bool = False,
    force: bool = False,
    dry_run: bool = False,
    trust: bool = False,
) -> int:
    return run_command(lambda: build_all(file, BuildOptions(prune, force, dry_run, trust)))


def header_of(path: Path) -> Header:
    header = read_header(path.read_bytes())
    assert header is not None
    return header


def command_of(path: Path) -> str:
    return header_of(path).command


NAMES = ["bert-1n-lr0.1.sh", "bert-1n-lr1e-3.sh", "bert-2n-lr0.1.sh", "bert-2n-lr1e-3.sh"]
NAMES += ["bert-4n-lr0.1.sh", "bert-4n-lr1e-3.sh", "eval.sh"]


@pytest.mark.parametrize(
    ("profile", "entry", "name"),
    [
        ("dgx-a100", "file: jobs/a-0.1.sh", "a-0.1"),
        ("dgx-a100", "file: jobs/a-0.1", "a-0.1"),
        ("dgx-a100", "file: jobs/a.sbatch, name: own", "own"),
        ("dgx-a100", "file: 'jobs/a,é.sh'", "a,é"),
        ("dgx-a100", "file: jobs/hetjob.sh", "job"),  # Slurm takes no such name
        ("eap", "file: 'jobs/a,é.sh'", "a__"),  # nor PBS such ones
        ("eap", f"file: jobs/{'a' * 240}.sh", "a" * 200),
    ],
)
def test_a_job_has_the_name_of_its_file(folder: Path, profile: str, entry: str, name: str) -> None:
    (folder / "jobgen.yaml").write_text(f"jobs: {{b: {{profile: {profile}, {entry}}}}}")
    assert build() == 0
    (script,) = (folder / "jobs").iterdir()
    assert f" -J {quote(name)}\n" in f"{command_of(script)}\n"


def test_every_combination_is_a_script(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert build() == 0
    out, err = capsys.readouterr()
    assert sorted(path.name for path in (folder / "jobs").iterdir()) == NAMES
    (keeper,) = (folder / ".jobgen").iterdir()
    paths = (f".jobgen/{keeper.name}", *(f"jobs/{name}" for name in NAMES))
    assert out == "".join(f"{path}: written\n" for path in paths)
    assert err == "jobgen: 7 scripts: 7 written, 0 unchanged; 0 removed\n"
    assert command_of(folder / "jobs/bert-2n-lr1e-3.sh") == (
        "jobgen sbatch --profile dgx-a100 -N 2 -J bert-2n-lr1e-3 -e A=1 -e 'B=rate 1e-3'"
        " -- train.py --lr 1e-3 '{x}'"
    )
    assert command_of(folder / "jobs/eval.sh") == (
        "jobgen qsub --profile eap -t 1:30:00 -J eval -e A=1 --set request.nodes=3 --requeue"
    )
    assert os.access(folder / "jobs/eval.sh", os.X_OK)
    (folder / "jobgen.yaml").unlink()
    assert run_command(lambda: check_all(["jobs"], False, False)) == 0


def test_an_unchanged_script_is_not_written(folder: Path) -> None:
    build()
    for path in (folder / "jobs").iterdir():
        os.utime(path, (1, 1))
    (folder / "jobgen.yaml").write_text(MANIFEST.replace("1:30:00", "2:00:00"))
    assert build(dry_run=True) == 1
    assert build() == 0
    changed = [path.name for path in (folder / "jobs").iterdir() if path.stat().st_mtime > 1]
    assert changed == ["eval.sh"]
    assert build(dry_run=True) == 0


def test_prune_removes_scripts_that_the_manifest_no_longer_has(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build()
    jobs, other_folder = folder / "jobs", folder / "copy.sh"
    other_folder.write_bytes((jobs / "eval.sh").read_bytes())
    (jobs / "by-hand.sh").write_text("#!/bin/bash\n")
    edited = jobs / "bert-4n-lr0.1.sh"
    edited.write_text(edited.read_text() + "# edited\n")
    (folder / "jobgen.yaml").write_text(MANIFEST.replace("[1, 2, 4]", "[1, 2]"))
    capsys.readouterr()
    assert build(prune=True, dry_run=True) == 1
    assert build() == 0
    assert (jobs / "bert-4n-lr1e-3.sh").exists()
    capsys.readouterr()
    assert build(prune=True) == 0
    out, err = capsys.readouterr()
    assert out == "jobs/bert-4n-lr1e-3.sh: removed\n"
    assert "bert-4n-lr0.1.sh: not removed, since it may be edited; --force would" in err
    names = {path.name for path in jobs.iterdir()}
    assert names == {*NAMES, "by-hand.sh"} - {"bert-4n-lr1e-3.sh"}
    assert other_folder.exists()
    assert build(prune=True, force=True) == 0
    assert not edited.exists()


def test_an_edit_is_not_lost(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build()
    file = folder / "jobs/eval.sh"
    file.write_text(file.read_text() + "# edited\n")
    (folder / "jobs/bert-1n-lr0.1.sh").unlink()
    capsys.readouterr()
    assert build() == 2
    message = "jobgen: jobs/eval.sh: edited by hand; --force would lose the edit [edited]\n"
    assert capsys.readouterr().err == message
    assert not (folder / "jobs/bert-1n-lr0.1.sh").exists()
    assert build(force=True) == 0
    assert "# edited" not in file.read_text()


def test_a_file_that_jobgen_has_not_made_is_not_replaced(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "jobs").mkdir()
    (folder / "jobs/eval.sh").write_text("mine")
    assert build(force=True) == 2
    assert "there is a file of this name that jobgen has not made" in capsys.readouterr().err
    assert [path.name for path in (folder / "jobs").iterdir()] == ["eval.sh"]


WRONG = {
    "jobs:\n  a: {file: x.sh, profil: mi210}\n": (
        "2:19: unknown key `profil`; write `profile: mi210` [unknown-key]"
    ),
    "default: {}\njobs: {a: {file: x.sh, profile: mi210}}\n": (
        "1:1: unknown key `default`; write `defaults: {}` [unknown-key]"
    ),
    "defaults: {}\n": "1:1: no jobs; such as",
    "jobs: [a]\n": "1:7: expected a map, got a list; such as `jobs: {bert: {",
    "jobs: {a: {profile: mi210}}\n": "1:8: job `a` has no `file`",
    "jobs:\n  a: {profile: mi210, file: x.sh, matrix: {nodes: [1, 2]}}\n": (
        "2:29: 'x.sh' would be the script of `a` with nodes 2, and of `a` with nodes 1;"
    ),
    "jobs: {a: {profile: mi210, file: x.sh}, b: {profile: mi210, file: ./x.sh}}\n": (
        "'./x.sh' would be the script of `b`, and of `a`"
    ),
    "jobs: {a: {profile: mi210, file: '{lrr}.sh', matrix: {lr: [1]}}}\n": (
        "1:34: `{lrr}` in '{lrr}.sh' is not a value of the job; did you mean `lr`?"
    ),
    "jobs: {a: {profile: mi210, file: x.sh, program: [t.py, '{']}}\n": "a brace is written {{ or",
    "jobs: {a: {profile: mi210, file: /etc/x.sh}}\n": (
        "1:34: '/etc/x.sh' is not a valid path for `a`"
    ),
    "jobs: {a: {profile: mi210, file: ../x.sh}}\n": "1:34: '../x.sh' is not a valid path for `a`",
    "jobs: {a: {profile: mi210, file: ''}}\n": "1:34: '' is not a valid path for `a`",
    "jobs: {a: {profile: mi210, file: ./.}}\n": "1:34: './.' is not a valid path for `a`",
    "jobs: {a: {profile: mi210, file: no/../x.sh}}\n": (
        "1:34: 'no/../x.sh' is not a valid path for `a`"
    ),
    "jobs: {a: {profile: mi210, file: .git/hooks/pre-commit}}\n": (
        "1:34: '.git/hooks/pre-commit' is a hidden file for `a`; use names without a leading dot"
    ),
    "jobs: {a: {profile: mi210, file: jobs/.x.sh}}\n": "'jobs/.x.sh' is a hidden file for `a`",
    "jobs: {a: {profile: mi210, file: u/a.sh/c/b.sh}, b: {profile: mi210, file: u/a.sh}}\n": (
        "1:76: 'u/a.sh' would be the script of `b`, and a folder for `a`; use in the pattern"
    ),
    "jobs: {b: {profile: mi210, file: u/a.sh}, a: {profile: mi210, file: u/a.sh/c/b.sh}}\n": (
        "1:69: 'u/a.sh/c/b.sh' would be the script of `a`, and below that of `b`;"
    ),
    "jobs:\n  a: {profile: eap, file: x.sh, matrix: {exclusive: ['True', yes, on, True]}}\n": (
        "2:54: expected true or false, got the text `True`; write True, without quotes [type]\n"
        "jobgen: jobgen.yaml:2:62: expected true or false, got the text `yes` [type]\n"
        "jobgen: jobgen.yaml:2:67: expected true or false, got the text `on` [type]\n"
    ),
    "jobs: {a: {profile: mi210, file: x.sh, queue: q}}\n": (
        "1:47: `jobgen sbatch` has no `queue` [unknown-key]"
    ),
    "jobs: {a: {walltime: 1:00:00, mem: 4G, job_name: x, script: a.py}}\n": (
        "jobgen: jobgen.yaml:1:12: unknown key `walltime`; write `time: 1:00:00` [unknown-key]\n"
        "jobgen: jobgen.yaml:1:31: unknown key `mem`; write `set: {request.memory: 4G}`"
        " [unknown-key]\n"
        "jobgen: jobgen.yaml:1:40: unknown key `job_name`; a job's name is its key [unknown-key]\n"
        "jobgen: jobgen.yaml:1:53: unknown key `script`; write `program: [a.py]` [unknown-key]\n"
    ),
    "jobs:\n  a: {dependency: 'afterok:1:2', gres: 'gpu:a100:8', export: B=3}\n": (
        "2:7: unknown key `dependency`; write `after: [1, 2]` [unknown-key]\n"
        "jobgen: jobgen.yaml:2:34: unknown key `gres`; write `gpus_per_node: 8`,"
        " `set: {node.gpu_type: a100}` [unknown-key]\n"
        "jobgen: jobgen.yaml:2:54: unknown key `export`; write `env: {B: 3}` [unknown-key]\n"
    ),
    "jobs: {a: {exclude: n1, cpus_per_task: 4, output: '%j.out'}}\n": (
        "1:12: unknown key `exclude`; write `set: {request.exclude: n1, request.cpus_per_task: 4,"
        ' request.output: "%j.out"}` [unknown-key]\n'
        "jobgen: jobgen.yaml:1:25: unknown key `cpus_per_task`;"
        " leave it out: `set` has it then [unknown-key]\n"
        "jobgen: jobgen.yaml:1:43: unknown key `output`;"
        " leave it out: `set` has it then [unknown-key]\n"
    ),
    "jobs: {a: {program: train.py --lr 0.1 'a b'}}\n": (
        'write `program: [train.py, --lr, "0.1", "a b"]` [type]'
    ),
    "jobs: {a: {file: x.sh, program: [python train.py --lr 1]}}\n": (
        "1:34: `python train.py --lr 1` is one word with blanks;"
        ' write `program: [train.py, --lr, "1"]` [value]'
    ),
    "jobs: {a: {profile: eap, file: x.sh, nodes: many}}\n": "1:45: expected a whole number",
    "jobs: {a: {profile: ep, file: x.sh}}\n": "1:21: no profile `ep`; did you mean `eap`?",
    "jobs: {a: {profile: eap, file: x.sh, command: rm}}\n": "unknown value `rm`",
    "jobs: {a: {profile: eap, file: x.sh, nodes: 1, matrix: {nodes: [1]}}}\n": "`nodes` is in the",
    "jobs: {a: {profile: eap, file: x.sh, matrix: {env: [1]}}}\n": "`env` takes several values",
    "jobs: {a: {profile: eap, file: x.sh, matrix: {file: [x]}}}\n": "`file` cannot be in a matrix",
    "jobs: {a: {profile: eap, file: x.sh, matrix: {lr: []}}}\n": "no values for `lr`",
    "jobs: {a: {profile: eap, file: x.sh, program: [--x]}}\n": "1:47: '--x' is not a program",
    "jobs: {a: {profile: eap, file: x.sh, program: ''}}\n": "1:47: expected a list, got the text",
    "jobs: {a: {profile: eap, file: x.sh, template: ../t}}\n": "../t is outside ",
    "jobs: {a: {profile: ../p.yaml, file: x.sh}}\n": "../p.yaml is outside ",
    "a: &x\n": "an anchor",
    "jobs: {a: {profile: eap, file: x.sh, name: 'a b'}}\n": "'a b' is not a valid job name",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_manifest_is_refused_with_the_place_and_nothing_is_written(
    text: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "jobgen.yaml").write_text(text)
    assert build() == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert WRONG[text] in err
    assert err.startswith("jobgen: jobgen.yaml:")
    assert [path.name for path in folder.iterdir()] == ["jobgen.yaml"]


@pytest.mark.parametrize(
    ("longest", "too_long"),
    [
        (f"{'d/' * 64}x.sh", f"{'d/' * 65}x.sh"),
        (f"d/{'é' * 127}", f"d/{'é' * 128}"),
        (f"{'x' * 255}/{'x' * 255}", f"{'x' * 255}/{'x' * 256}"),
        (f"{('é' * 100 + '/') * 10}x.sh", f"{('é' * 100 + '/') * 21}x.sh"),
    ],
)
def test_a_path_that_is_too_long_is_refused(
    longest: str, too_long: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "jobgen.yaml").write_text(f"jobs: {{a: {{profile: eap, file: {too_long}}}}}\n")
    assert build() == 2
    hint = "at most 64 folders, 255 bytes for each name, and 4096 for the path [limit]\n"
    assert capsys.readouterr().err.endswith(f"is too long for `a`; {hint}")
    assert [path.name for path in folder.iterdir()] == ["jobgen.yaml"]
    (folder / "jobgen.yaml").write_text(f"jobs: {{a: {{profile: eap, file: {longest}}}}}\n")
    assert build() == 0
    assert run_command(lambda: check_all(["."], False, False)) == 0
    assert capsys.readouterr().err.endswith("1 current; 1 other files skipped\n")


def test_a_manifest_that_is_a_link_out_of_its_repository_is_refused(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    """The messages about it would show what is in the file."""
    secret = tmp_path_factory.mktemp("other") / "secret.yaml"
    secret.write_text("password: 4711\n")
    (folder / "jobgen.yaml").unlink()
    (folder / "jobgen.yaml").symlink_to(secret)
    assert build() == 2
    err = capsys.readouterr().err
    assert err.startswith("jobgen: jobgen.yaml: a link out of its repository; ")
    assert "password" not in err


def test_a_folder_can_have_a_name_that_is_not_utf_8(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"d\xff")
    folder.mkdir()
    (folder / "jobgen.yaml").write_text("jobs: {a: {profile: eap, file: a.sh}}\n")
    done = jobgen("build", os.fsencode(folder / "jobgen.yaml"))
    assert (done.returncode, done.stdout.endswith(b"d\\udcff/a.sh: written\n")) == (0, True)


def test_all_problems_are_shown_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = MANIFEST.replace("[1, 2, 4]", "[1, x, 9999]").replace("3}", "none}")
    (folder / "jobgen.yaml").write_text(wrong)
    assert build() == 2
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[1].split(":")[:2] for line in lines] == [
        *([["jobgen.yaml", "7"]] * (len(lines) - 1)),
        ["jobgen.yaml", "15"],
    ]
    assert len(set(lines)) == len(lines) >= 2
    assert not (folder / "jobs").exists()


def test_no_script_is_written_through_a_link_to_a_forbidden_place(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Out of the manifest's folder, into a hidden one, or twice to the same place."""
    within = folder / "top"
    for name in ("out", "top/.git", "top/k"):
        (folder / name).mkdir(parents=True)
    (folder / "out/v.sh").write_text("mine")
    (within / "k/v.sh").symlink_to("../../out/v.sh")
    (within / "k/dead.sh").symlink_to("../../out/none.sh")
    (within / "k/same.sh").symlink_to("x.sh")
    (within / "o").symlink_to("../out")
    (within / "g").symlink_to(".git")
    (within / "k2").symlink_to("k")
    names = ["k/x.sh", "k/v.sh", "k/dead.sh", "o/x.sh", "g/x.sh", "k2/x.sh", "k/same.sh"]
    jobs = ", ".join(f"j{number}: {{file: {name}}}" for number, name in enumerate(names))
    (within / "jobgen.yaml").write_text(f"defaults: {{profile: eap}}\njobs: {{{jobs}}}\n")
    assert build("top/jobgen.yaml", force=True) == 2
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(": ", 2)[2].split(";")[0] for line in lines] == [
        "'k/v.sh' is not a valid path for `j1`",
        "'k/dead.sh' is not a valid path for `j2`",
        "'o/x.sh' is not a valid path for `j3`",
        "'g/x.sh' is a hidden file for `j4`",
        "'k2/x.sh' would be the script of `j5`, and of `j0`",
        "'k/same.sh' would be the script of `j6`, and of `j0`",
    ]
    assert os.listdir(folder / "out") == ["v.sh"]
    assert not os.path.lexists(within / "k/x.sh")


def test_a_link_within_the_folder_and_a_hidden_folder_above_it_are_allowed(folder: Path) -> None:
    within = folder / ".hidden"
    (within / "a/b").mkdir(parents=True)
    (within / "l").symlink_to("a/b")
    text = "jobs: {x: {profile: eap, file: l/x.sh}}\n"
    (within / "jobgen.yaml").write_text(text)
    assert build(".hidden/jobgen.yaml") == 0
    assert header_of(within / "a/b/x.sh").manifest == "../../jobgen.yaml"
    (within / "jobgen.yaml").write_text(text.replace("x: {", "y: {").replace("l/x", "a/y"))
    assert build(".hidden/jobgen.yaml", prune=True) == 0
    assert not (within / "a/b/x.sh").exists()


def test_a_script_of_another_origin_is_not_replaced(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One of the command line or of another manifest; unless its command is the same."""
    words = ["local", "-o", "jobs/a.sh", "--", "other.py"]
    (folder / "jobs").mkdir()
    assert jobgen(*words, cwd=folder).returncode == 0
    assert jobgen("local", "-o", "jobs/c.sh", cwd=folder).returncode == 0
    text = "jobs: {a: {profile: local, file: jobs/a.sh}, b: {profile: local, file: jobs/b.sh}}\n"
    (folder / "other.yaml").write_text(text.replace("a.sh", "o.sh"))
    assert build("other.yaml") == 0
    (folder / "jobgen.yaml").write_text(text.replace("local,", "local, nodes: 2,"))
    scripts = [(folder / name).read_bytes() for name in ("jobs/a.sh", "jobs/b.sh")]
    capsys.readouterr()
    assert build() == 2
    assert capsys.readouterr().err == (
        "jobgen: jobs/a.sh: there is a script of this name that is of no manifest: jobgen local"
        " -- other.py; move it away, or --force would lose it [output]\n"
        "jobgen: jobs/b.sh: there is a script of this name that is of ../other.yaml: jobgen local"
        " --profile local; move it away, or --force would lose it [output]\n"
    )
    assert [(folder / name).read_bytes() for name in ("jobs/a.sh", "jobs/b.sh")] == scripts
    assert build(force=True) == 0
    assert command_of(folder / "jobs/b.sh") == "jobgen local --profile local -N 2"
    (folder / "jobgen.yaml").write_text("jobs: {c: {command: local, file: jobs/c.sh}}\n")
    assert build() == 0
    assert header_of(folder / "jobs/c.sh").manifest == "../jobgen.yaml"


def test_nothing_is_written_where_a_file_is_in_the_way_of_a_folder(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All such files are shown at once."""
    (folder / "u").write_text("mine")
    (folder / "d.sh").mkdir()
    jobs = "a: {file: x/a.sh}, b: {file: u/v/b.sh}, c: {file: d.sh}, d: {nodes: x, file: d/d.sh}"
    (folder / "jobgen.yaml").write_text(f"defaults: {{profile: eap}}\njobs: {{{jobs}}}\n")
    assert build() == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "jobgen: d.sh: cannot be read: Is a directory [unreadable]"
    assert lines[1].startswith("jobgen: jobgen.yaml:2:")
    assert lines[2] == "jobgen: u/v/b.sh: cannot be written: Not a directory [output]"
    assert not (folder / "x").exists()


def test_a_flag_in_a_matrix_is_true_or_false(folder: Path) -> None:
    text = "jobs: {a: {profile: mi210, file: '{requeue}.sh', matrix: {requeue: [True, false]}}}\n"
    (folder / "jobgen.yaml").write_text(text)
    assert build() == 0
    assert command_of(folder / "True.sh").endswith(" --requeue")
    assert not command_of(folder / "false.sh").endswith(" --requeue")


def test_prune_searches_the_folders_in_which_the_patterns_begin(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also after the last job; but no hidden files, and not through links."""
    text = "defaults: {profile: eap, file: 'pp/{name}/{r}.sh', matrix: {r: [0, 1]}}\njobs: "
    (folder / "jobgen.yaml").write_text(text + "{p: {}, q: {}, r: {file: 'rr-{name}/{r}.sh'}}\n")
    assert build() == 0
    script = (folder / "pp/q/0.sh").read_bytes()
    (folder / "pp/q/.hidden.sh").write_bytes(script)
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere/x.sh").write_bytes(script.replace(b"../../", b"../"))
    (folder / "pp/link").symlink_to("../elsewhere")
    (folder / "elsewhere/y.sh").write_bytes(script)
    (folder / "pp/q/link.sh").symlink_to("../../elsewhere/y.sh")
    (folder / "pp/.q").mkdir()
    (folder / "pp/.q/x.sh").write_bytes(script)
    (folder / "jobgen.yaml").write_text(text + "{p: {}}\n")
    capsys.readouterr()
    assert build(prune=True) == 0
    assert capsys.readouterr().out == "pp/q/0.sh: removed\npp/q/1.sh: removed\n"
    (folder / "jobgen.yaml").write_text(text + "{}\n")
    assert build() == 0
    assert build(prune=True, dry_run=True) == 1
    assert build(prune=True) == 0
    files = {str(path.relative_to(folder)) for path in folder.rglob("*.sh")}
    skipped_files = {"pp/.q/x.sh", "pp/q/.hidden.sh", "pp/q/link.sh"}
    assert files == {"elsewhere/x.sh", "elsewhere/y.sh", "rr-r/0.sh", "rr-r/1.sh"} | skipped_files


def test_an_edit_during_the_build_is_not_lost(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither one of a script to write, nor one of a script to remove."""
    build()
    edited = [folder / "jobs" / name for name in ("bert-2n-lr0.1.sh", "eval.sh")]
    write_changes = build_module._write_changes

    def edit_and_write_changes(*arguments: Any) -> int:
        for path in edited:
            path.write_text(path.read_text() + "# edited\n")
        return write_changes(*arguments)

    monkeypatch.setattr(build_module, "_write_changes", edit_and_write_changes)
    changed = MANIFEST.split('  "eval"')[0].replace('A: "1"', 'A: "2"')
    (folder / "jobgen.yaml").write_text(changed)
    capsys.readouterr()
    assert build(prune=True) == 2
    assert capsys.readouterr().err == (
        "jobgen: jobs/bert-2n-lr0.1.sh: edited by hand; --force would lose the edit [edited]\n"
        "jobgen: jobs/eval.sh: not removed, since it may be edited; --force would\n"
        "jobgen: 6 scripts: 5 written, 1 unchanged; 0 removed\n"
    )
    assert all(path.read_text().endswith("# edited\n") for path in edited)


@pytest.mark.parametrize(("module", "step"), [(build_module, "_write_changes"), (files, "remove")])
def test_a_folder_that_becomes_a_link_during_the_build(
    module: ModuleType,
    step: str,
    folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nothing is written or removed behind it."""
    build()
    outside = tmp_path_factory.mktemp("outside")
    shutil.copytree(folder / "jobs", outside, dirs_exist_ok=True)
    before = {path.name: path.read_text() for path in outside.iterdir()}
    real = getattr(module, step)

    def link_and_step(*arguments: Any) -> Any:
        shutil.rmtree(folder / "jobs")
        (folder / "jobs").symlink_to(outside)
        return real(*arguments)

    monkeypatch.setattr(module, step, link_and_step)
    changed = MANIFEST.split('  "eval"')[0].replace('A: "1"', 'A: "2"')
    (folder / "jobgen.yaml").write_text(changed)
    assert build(prune=True) == 2
    assert "Not a directory [output]" in capsys.readouterr().err
    assert {path.name: path.read_text() for path in outside.iterdir()} == before


def test_a_matrix_that_is_too_large_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    many = ", ".join(map(str, range(400)))
    matrix = f"{{a: [{many}], b: [{many}]}}"
    text = f"jobs: {{x: {{profile: eap, file: '{{a}}-{{b}}.sh', matrix: {matrix}}}}}\n"
    (folder / "jobgen.yaml").write_text(text)
    assert build() == 2
    assert "160000 scripts, more than 100000" in capsys.readouterr().err


KEYS = ", ".join(f"k{n}: [1]" for n in range(64))
A_JOB = "jobs: {a: {profile: mi210, file: '{name}-{n}.sh', matrix: {n: [0, 1, 2]}, program: "
FILLED = "the values of all scripts have more than 131072 characters; fewer scripts, or shorter"
TOO_MUCH = {
    "jobs: {a: {profile: mi210, file: x.sh, matrix: {" + KEYS + ", z: [1]}}}\n": (
        "1:48: a matrix of 65 keys; at most 64 for a job [limit]\n"
    ),
    f"defaults: {{file: x.sh, env: {{{KEYS}}}}}\njobs: ".replace("[1]", "1")
    + str({f"a{n}": {} for n in range(100)}): (
        "more than 4096 values; those of `defaults` count for each job; fewer values, or several"
    ),
    A_JOB + "[a, '" + "{n}" * 9000 + "']}}\n": FILLED,
    A_JOB + "[" + "a, " * 4000 + "]}}\n": FILLED,
    A_JOB + str([f"{{u{n}}}" for n in range(999)]) + "}}\n": "jobgen: and 450 more problems\n",
    "jobs: {a: {profile: mi210, file: '{n}.sh', launcher: 'x{n}', matrix: {n: "
    + str(list(range(600)))
    + "}}}\n": "jobgen.yaml: 500 problems: no others were searched for\n",
}


@pytest.mark.parametrize("text", TOO_MUCH, ids=range(len(TOO_MUCH)))
def test_a_manifest_that_takes_far_more_than_its_size_is_refused(
    text: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobgen.repository.manifest.MANIFEST_VALUES", 1 << 12)
    monkeypatch.setattr("jobgen.repository.matrix.MANIFEST_CHARACTERS", 1 << 17)
    (folder / "jobgen.yaml").write_text(text)
    assert build() == 2
    assert TOO_MUCH[text] in capsys.readouterr().err
    assert not list(folder.glob("*.sh"))


def test_more_folders_than_scripts_need_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobgen.repository.script_paths.MANIFEST_FOLDERS", 9)
    text = "jobs: {a: {profile: eap, file: '{n}/d/x.sh', matrix: {n: [0, 1, 2, 3]}}}\n"
    (folder / "jobgen.yaml").write_text(text)
    assert build(dry_run=True) == 1  # eight folders, and the manifest's own
    (folder / "jobgen.yaml").write_text(text.replace("3]", "3, 4]"))
    capsys.readouterr()
    assert build() == 2
    assert capsys.readouterr().err == (
        "jobgen: jobgen.yaml:1:32: more than 9 folders for all scripts; fewer folders, or several"
        " manifests [limit]\n"
    )
    assert [path.name for path in folder.iterdir()] == ["jobgen.yaml"]


def test_a_template_of_the_repository_is_rendered_only_with_trust(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "jobs: {a: {file: 'x/{n}.sh', template: t.j2, command: local, matrix: {n: [1, 2]}}}\n"
    (folder / "jobgen.yaml").write_text(text)
    (folder / "t.j2").write_text("theirs\n")
    assert build() == 2
    why = "a template is code, and nobody has said that this one may run"
    cure = f"read it, then use --trust, or add its repository to {folder}/config/jobgen/trusted"
    assert capsys.readouterr().err == f"jobgen: t.j2: {why}; {cure} [untrusted]\n"
    assert not (folder / "x").exists()
    assert build(trust=True) == 0
    assert (folder / "x/1.sh").read_text() == "theirs\n"
    own = folder / "config/jobgen/templates/local.sh.j2"  # the user's own, by its name
    own.parent.mkdir(parents=True)
    own.write_text("own\n")
    (folder / "jobgen.yaml").write_text(text.replace("template: t.j2, ", ""))
    (folder / "x/1.sh").unlink()
    (folder / "x/2.sh").unlink()
    assert build() == 0
    assert (folder / "x/1.sh").read_text() == "own\n"


def test_scripts_do_not_fill_the_disk(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "t.j2").write_text("{{ ('x' * 8000000) | raw }}\n")
    many = f"file: 'x/{{n}}.sh', template: t.j2, command: local, matrix: {{n: {list(range(4))}}}"
    (folder / "jobgen.yaml").write_text(f"jobs: {{a: {{{many}}}}}\n")
    monkeypatch.setattr(build_module, "BUILD_BYTES", 20_000_000)
    assert build(trust=True) == 2
    assert capsys.readouterr().err == (
        "jobgen: all scripts: more than 20000000 bytes; smaller ones, or several manifests"
        " [limit]\n"
    )
    assert not (folder / "x").exists()


def test_many_ordinary_scripts_may_have_more_bytes_in_all(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_module, "BUILD_BYTES", 1)
    assert build(dry_run=True) == 1
    monkeypatch.setattr(build_module, "BUILD_BYTES_EACH", 1000)
    capsys.readouterr()
    assert build() == 2
    assert "all scripts: more than 7000 bytes; smaller ones" in capsys.readouterr().err


def test_a_large_manifest_is_built(folder: Path) -> None:
    """A matrix of 64 keys, and hundreds of jobs that add a variable to those of the defaults."""
    names = ", ".join(f"E{n}: v" for n in range(90))
    jobs = ", ".join(f"j{n}: {{env: {{J: 1}}}}" for n in range(150))
    text = (
        f"defaults: {{profile: eap, env: {{{names}}}, matrix: {{{KEYS}}}, file: 'x/{{name}}.sh'}}"
    )
    (folder / "jobgen.yaml").write_text(f"{text}\njobs: {{{jobs}}}\n")
    assert build() == 0
    assert len(list((folder / "x").iterdir())) == 150


def test_a_problem_and_its_hint_are_shortened() -> None:
    """Thousands of them, each with the whole text of a file, would fill terminal and memory."""
    problem = Problem(Mark("f" * 5000), "t" * 5000, "code", "h" * 5000)
    assert (problem.text, problem.hint) == ("t" * 998 + " …", "h" * 998 + " …")
    assert len(str(problem)) < 3100


def test_a_word_is_compared_with_few_others_for_a_hint() -> None:
    """Comparing long words, or each of thousands with thousands, would take hours."""
    words = [f"name-{number:03}" for number in range(257)]
    assert nearest_hint("nam-007", words[:256]) == "did you mean `name-007`?"
    assert nearest_hint("nam-007", words) == f"one of: {', '.join(words[:256])}, …"
    assert nearest_hint("a" * 64, ["a" * 60, "b"]) == f"did you mean `{'a' * 60}`?"
    assert nearest_hint("a" * 65, ["a" * 60, "b"]) == f"one of: {'a' * 60}, b"


def test_a_profile_of_the_repository_is_found_from_anywhere(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "profiles").mkdir()
    (folder / "profiles/mine.yaml").write_text("extends: dgx-a100\naccount: mine\n")
    (folder / "jobgen.yaml").write_text("jobs: {a: {profile: mine, file: jobs/a.sh}}\n")
    monkeypatch.chdir("/")
    assert build(str(folder / "jobgen.yaml")) == 0
    assert "#SBATCH --account=mine\n" in (folder / "jobs/a.sh").read_text()


@pytest.mark.slow
def test_a_build_that_is_killed_leaves_whole_files(folder: Path) -> None:
    rates = ", ".join(f"{number}e-6" for number in range(500))
    (folder / "jobgen.yaml").write_text(MANIFEST.replace("0.1, 1e-3", rates))
    process = subprocess.Popen(
        [sys.executable, "-m", "jobgen", "build"], stdout=subprocess.PIPE, cwd=folder
    )
    assert process.stdout is not None
    for _ in range(2):  # the keeper and the first script are written
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    written = list((folder / "jobs").glob("*.sh"))
    assert written
    assert run_command(lambda: check_all(["jobs"], False, False)) == 0
    assert build() == 0
    assert len(list((folder / "jobs").glob("*.sh"))) == 1501


def test_a_missing_manifest_is_one_message(tmp_path: Path) -> None:
    done = jobgen("build", cwd=tmp_path)
    assert done.returncode == 2
    message = "jobgen: jobgen.yaml: cannot be read: No such file or directory;"
    message += " `jobgen build FILE` reads another [unreadable]\n"
    assert done.stderr.decode() == message
