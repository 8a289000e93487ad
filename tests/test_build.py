"""A manifest's scripts: all of them or none, and only what changed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jobgen import build as build_module
from jobgen.build import build_all
from jobgen.check import check_all
from jobgen.errors import Mark, Problem, handled
from jobgen.header import Head, head
from jobgen.schema import nearest
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
    file: str = "jobgen.yaml", prune: bool = False, force: bool = False, dry_run: bool = False
) -> int:
    return handled(lambda: build_all(file, prune, force, dry_run))


def top(path: Path) -> Head:
    found = head(path.read_bytes())
    assert found is not None
    return found


def command(path: Path) -> str:
    return top(path).command


NAMES = ["bert-1n-lr0.1.sh", "bert-1n-lr1e-3.sh", "bert-2n-lr0.1.sh", "bert-2n-lr1e-3.sh"]
NAMES += ["bert-4n-lr0.1.sh", "bert-4n-lr1e-3.sh", "eval.sh"]


def test_every_combination_is_a_script(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert build() == 0
    out, err = capsys.readouterr()
    assert sorted(path.name for path in (folder / "jobs").iterdir()) == NAMES
    assert out == "".join(f"jobs/{name}: written\n" for name in NAMES)
    assert err == "jobgen: 7 scripts: 7 written, 0 as they were; 0 removed\n"
    assert command(folder / "jobs/bert-2n-lr1e-3.sh") == (
        "jobgen sbatch --profile dgx-a100 -N 2 -J bert -e A=1 -e 'B=rate 1e-3'"
        " -- train.py --lr 1e-3 '{x}'"
    )
    assert command(folder / "jobs/eval.sh") == (
        "jobgen qsub --profile eap -t 1:30:00 -J eval -e A=1 --set request.nodes=3 --requeue"
    )
    assert os.access(folder / "jobs/eval.sh", os.X_OK)
    (folder / "jobgen.yaml").unlink()
    assert handled(lambda: check_all(["jobs"], False, False)) == 0


def test_what_stays_the_same_is_not_touched(folder: Path) -> None:
    build()
    for path in (folder / "jobs").iterdir():
        os.utime(path, (1, 1))
    (folder / "jobgen.yaml").write_text(MANIFEST.replace("1:30:00", "2:00:00"))
    assert build(dry_run=True) == 1
    assert build() == 0
    changed = [path.name for path in (folder / "jobs").iterdir() if path.stat().st_mtime > 1]
    assert changed == ["eval.sh"]
    assert build(dry_run=True) == 0


def test_prune_removes_what_is_jobgen_s_and_no_longer_there(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build()
    jobs, elsewhere = folder / "jobs", folder / "kept.sh"
    elsewhere.write_bytes((jobs / "eval.sh").read_bytes())
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
    left = {path.name for path in jobs.iterdir()}
    assert left == {*NAMES, "by-hand.sh"} - {"bert-4n-lr1e-3.sh"}
    assert elsewhere.exists()
    assert build(prune=True, force=True) == 0
    assert not edited.exists()


def test_an_edit_is_not_lost(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build()
    file = folder / "jobs/eval.sh"
    file.write_text(file.read_text() + "# edited\n")
    (folder / "jobs/bert-1n-lr0.1.sh").unlink()
    capsys.readouterr()
    assert build() == 2
    said = "jobgen: jobs/eval.sh: edited by hand; --force would lose the edit [edited]\n"
    assert capsys.readouterr().err == said
    assert not (folder / "jobs/bert-1n-lr0.1.sh").exists()
    assert build(force=True) == 0
    assert "# edited" not in file.read_text()


def test_a_file_that_is_not_jobgen_s_is_kept(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "jobs").mkdir()
    (folder / "jobs/eval.sh").write_text("mine")
    assert build(force=True) == 2
    assert "there is a file of this name that jobgen has not made" in capsys.readouterr().err
    assert [path.name for path in (folder / "jobs").iterdir()] == ["eval.sh"]


WRONG = {
    "jobs:\n  a: {file: x.sh, profil: mi210}\n": (
        "2:19: unknown key `profil`; did you mean `profile`? [unknown-key]"
    ),
    "default: {}\njobs: {a: {file: x.sh, profile: mi210}}\n": (
        "1:1: unknown key `default`; did you mean `defaults`? [unknown-key]"
    ),
    "defaults: {}\n": "1:1: no jobs; such as",
    "jobs: [a]\n": "1:7: expected a map, got a list",
    "jobs: {a: {profile: mi210}}\n": "1:8: job `a` says no `file`",
    "jobs:\n  a: {profile: mi210, file: x.sh, matrix: {nodes: [1, 2]}}\n": (
        "2:29: 'x.sh' would be the script of `a` with nodes 2, and of `a` with nodes 1;"
    ),
    "jobs: {a: {profile: mi210, file: x.sh}, b: {profile: mi210, file: ./x.sh}}\n": (
        "'./x.sh' would be the script of `b`, and of `a`"
    ),
    "jobs: {a: {profile: mi210, file: '{lrr}.sh', matrix: {lr: [1]}}}\n": (
        "1:34: `{lrr}` in '{lrr}.sh' is no value of the job's; did you mean `lr`?"
    ),
    "jobs: {a: {profile: mi210, file: x.sh, program: [t.py, '{']}}\n": "a brace is written {{ or",
    "jobs: {a: {profile: mi210, file: /etc/x.sh}}\n": "1:34: '/etc/x.sh' is no file for `a`",
    "jobs: {a: {profile: mi210, file: ../x.sh}}\n": "1:34: '../x.sh' is no file for `a`",
    "jobs: {a: {profile: mi210, file: ''}}\n": "1:34: '' is no file for `a`",
    "jobs: {a: {profile: mi210, file: ./.}}\n": "1:34: './.' is no file for `a`",
    "jobs: {a: {profile: mi210, file: no/../x.sh}}\n": "1:34: 'no/../x.sh' is no file for `a`",
    "jobs: {a: {profile: mi210, file: .git/hooks/pre-commit}}\n": (
        "1:34: '.git/hooks/pre-commit' is a hidden file for `a`; git or others may run it"
    ),
    f"jobs: {{a: {{profile: mi210, file: {'d/' * 2000}x.sh}}}}\n": "is too long for `a`; at most",
    f"jobs: {{a: {{profile: mi210, file: d/{'é' * 128}}}}}\n": "is too long for `a`; at most 255",
    "jobs: {a: {profile: mi210, file: jobs/.x.sh}}\n": "'jobs/.x.sh' is a hidden file for `a`",
    "jobs: {a: {profile: mi210, file: u/a.sh/c/b.sh}, b: {profile: mi210, file: u/a.sh}}\n": (
        "1:76: 'u/a.sh' would be the script of `b`, and a folder for `a`; name in the pattern"
    ),
    "jobs: {b: {profile: mi210, file: u/a.sh}, a: {profile: mi210, file: u/a.sh/c/b.sh}}\n": (
        "1:69: 'u/a.sh/c/b.sh' would be the script of `a`, and below that of `b`;"
    ),
    "jobs:\n  a: {profile: eap, file: x.sh, matrix: {exclusive: ['True', yes, on, True]}}\n": (
        "2:54: expected true or false, got the text `True` [type]\n"
        "jobgen: jobgen.yaml:2:62: expected true or false, got the text `yes` [type]\n"
        "jobgen: jobgen.yaml:2:67: expected true or false, got the text `on` [type]\n"
    ),
    "jobs: {a: {profile: mi210, file: x.sh, queue: q}}\n": (
        "1:47: `queue` is nothing that `jobgen sbatch` is told"
    ),
    "jobs: {a: {profile: eap, file: x.sh, nodes: many}}\n": "1:45: expected a whole number",
    "jobs: {a: {profile: ep, file: x.sh}}\n": "1:21: no profile `ep`; did you mean `eap`?",
    "jobs: {a: {profile: eap, file: x.sh, command: rm}}\n": "unknown value `rm`",
    "jobs: {a: {profile: eap, file: x.sh, nodes: 1, matrix: {nodes: [1]}}}\n": "`nodes` is in the",
    "jobs: {a: {profile: eap, file: x.sh, matrix: {env: [1]}}}\n": "`env` takes several values",
    "jobs: {a: {profile: eap, file: x.sh, matrix: {file: [x]}}}\n": "`file` cannot be in a matrix",
    "jobs: {a: {profile: eap, file: x.sh, matrix: {lr: []}}}\n": "no values for `lr`",
    "jobs: {a: {profile: eap, file: x.sh, program: [--x]}}\n": "1:47: '--x' is no program",
    "jobs: {a: {profile: eap, file: x.sh, template: ../t}}\n": "../t is outside of",
    "jobs: {a: {profile: ../p.yaml, file: x.sh}}\n": "../p.yaml is outside of",
    "a: &x\n": "an anchor",
    "jobs: {a: {profile: eap, file: x.sh, name: 'a b'}}\n": "'a b' is no name for a job",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_said_with_its_place_and_nothing_is_written(
    text: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "jobgen.yaml").write_text(text)
    assert build() == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert WRONG[text] in err
    assert err.startswith("jobgen: jobgen.yaml:")
    assert [path.name for path in folder.iterdir()] == ["jobgen.yaml"]


def test_a_manifest_that_is_a_link_out_of_its_repository(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is wrong with it would be shown, and so what is in it."""
    secret = tmp_path_factory.mktemp("other") / "secret.yaml"
    secret.write_text("password: 4711\n")
    (folder / "jobgen.yaml").unlink()
    (folder / "jobgen.yaml").symlink_to(secret)
    assert build() == 2
    err = capsys.readouterr().err
    assert err.startswith("jobgen: jobgen.yaml: a link out of its repository; ")
    assert "password" not in err


def test_a_folder_whose_name_is_not_utf_8(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"d\xff")
    folder.mkdir()
    (folder / "jobgen.yaml").write_text("jobs: {a: {profile: eap, file: a.sh}}\n")
    done = jobgen("build", os.fsencode(folder / "jobgen.yaml"))
    assert (done.returncode, done.stdout.endswith(b"d\\udcff/a.sh: written\n")) == (0, True)


def test_all_problems_are_said_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
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


def test_no_script_is_written_through_a_link_to_where_none_may_be(
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
    said = [line.split(": ", 2)[2].split(";")[0] for line in capsys.readouterr().err.splitlines()]
    assert said == [
        "'k/v.sh' is no file for `j1`",
        "'k/dead.sh' is no file for `j2`",
        "'o/x.sh' is no file for `j3`",
        "'g/x.sh' is a hidden file for `j4`",
        "'k2/x.sh' would be the script of `j5`, and of `j0`",
        "'k/same.sh' would be the script of `j6`, and of `j0`",
    ]
    assert os.listdir(folder / "out") == ["v.sh"]
    assert not os.path.lexists(within / "k/x.sh")


def test_a_link_within_the_folder_and_a_hidden_folder_above_it_are_right(folder: Path) -> None:
    within = folder / ".hidden"
    (within / "a/b").mkdir(parents=True)
    (within / "l").symlink_to("a/b")
    text = "jobs: {x: {profile: eap, file: l/x.sh}}\n"
    (within / "jobgen.yaml").write_text(text)
    assert build(".hidden/jobgen.yaml") == 0
    assert top(within / "a/b/x.sh").manifest == "../../jobgen.yaml"
    (within / "jobgen.yaml").write_text(text.replace("x: {", "y: {").replace("l/x", "a/y"))
    assert build(".hidden/jobgen.yaml", prune=True) == 0
    assert not (within / "a/b/x.sh").exists()


def test_another_s_script_is_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One of the command line, or of another manifest; but one of the same command may be had."""
    main = ["local", "-o", "jobs/a.sh", "--", "other.py"]
    (folder / "jobs").mkdir()
    assert jobgen(*main, cwd=folder).returncode == 0
    assert jobgen("local", "-o", "jobs/c.sh", cwd=folder).returncode == 0
    text = "jobs: {a: {profile: local, file: jobs/a.sh}, b: {profile: local, file: jobs/b.sh}}\n"
    (folder / "other.yaml").write_text(text.replace("a.sh", "o.sh"))
    assert build("other.yaml") == 0
    (folder / "jobgen.yaml").write_text(text.replace("local,", "local, nodes: 2,"))
    kept = [(folder / name).read_bytes() for name in ("jobs/a.sh", "jobs/b.sh")]
    capsys.readouterr()
    assert build() == 2
    assert capsys.readouterr().err == (
        "jobgen: jobs/a.sh: there is a script of this name that is of no manifest: jobgen local"
        " -- other.py; move it away, or --force would lose it [output]\n"
        "jobgen: jobs/b.sh: there is a script of this name that is of ../other.yaml: jobgen local"
        " --profile local; move it away, or --force would lose it [output]\n"
    )
    assert [(folder / name).read_bytes() for name in ("jobs/a.sh", "jobs/b.sh")] == kept
    assert build(force=True) == 0
    assert command(folder / "jobs/b.sh") == "jobgen local --profile local -N 2"
    (folder / "jobgen.yaml").write_text("jobs: {c: {command: local, file: jobs/c.sh}}\n")
    assert build() == 0
    assert top(folder / "jobs/c.sh").manifest == "../jobgen.yaml"


def test_nothing_is_written_where_a_file_is_in_the_way_of_a_folder(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All that is in the way is told at once."""
    (folder / "u").write_text("mine")
    (folder / "d.sh").mkdir()
    jobs = "a: {file: x/a.sh}, b: {file: u/v/b.sh}, c: {file: d.sh}, d: {nodes: x, file: d/d.sh}"
    (folder / "jobgen.yaml").write_text(f"defaults: {{profile: eap}}\njobs: {{{jobs}}}\n")
    assert build() == 2
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "jobgen: d.sh: no regular file [unreadable]"
    assert said[1].startswith("jobgen: jobgen.yaml:2:")
    assert said[2] == "jobgen: u/v/b.sh: cannot be written: Not a directory [output]"
    assert not (folder / "x").exists()


def test_a_flag_in_a_matrix_is_true_or_false(folder: Path) -> None:
    text = "jobs: {a: {profile: mi210, file: '{requeue}.sh', matrix: {requeue: [True, false]}}}\n"
    (folder / "jobgen.yaml").write_text(text)
    assert build() == 0
    assert command(folder / "True.sh").endswith(" --requeue")
    assert not command(folder / "false.sh").endswith(" --requeue")


def test_prune_looks_below_where_the_patterns_begin(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also after the last job; but not at hidden files and through links."""
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
    left = {str(path.relative_to(folder)) for path in folder.rglob("*.sh")}
    passed_over = {"pp/.q/x.sh", "pp/q/.hidden.sh", "pp/q/link.sh"}
    assert left == {"elsewhere/x.sh", "elsewhere/y.sh", "rr-r/0.sh", "rr-r/1.sh"} | passed_over


def test_an_edit_that_is_saved_while_it_builds_is_not_lost(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither of a script that would be written, nor of one that would be removed."""
    build()
    kept = [folder / "jobs" / name for name in ("bert-2n-lr0.1.sh", "eval.sh")]
    real = build_module._write

    def write(*words: Any) -> int:
        for path in kept:
            path.write_text(path.read_text() + "# edited\n")
        return real(*words)

    monkeypatch.setattr(build_module, "_write", write)
    changed = MANIFEST.split('  "eval"')[0].replace('A: "1"', 'A: "2"')
    (folder / "jobgen.yaml").write_text(changed)
    capsys.readouterr()
    assert build(prune=True) == 2
    assert capsys.readouterr().err == (
        "jobgen: jobs/bert-2n-lr0.1.sh: edited by hand; --force would lose the edit [edited]\n"
        "jobgen: jobs/eval.sh: not removed, since it may be edited; --force would\n"
        "jobgen: 6 scripts: 5 written, 1 as they were; 0 removed\n"
    )
    assert all(path.read_text().endswith("# edited\n") for path in kept)


@pytest.mark.parametrize("step", ["_write", "_remove"])
def test_a_folder_that_becomes_a_link_while_it_builds(
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
    real = getattr(build_module, step)

    def late(*words: Any) -> Any:
        shutil.rmtree(folder / "jobs")
        (folder / "jobs").symlink_to(outside)
        return real(*words)

    monkeypatch.setattr(build_module, step, late)
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
        "more than 4096 values, those of `defaults` counted for each job; fewer of them, or several"
    ),
    A_JOB + "[a, '" + "{n}" * 9000 + "']}}\n": FILLED,
    A_JOB + "[" + "a, " * 4000 + "]}}\n": FILLED,
    A_JOB + str([f"{{u{n}}}" for n in range(999)]) + "}}\n": "jobgen: and 450 more problems\n",
    "jobs: {a: {profile: mi210, file: '{n}.sh', launcher: 'x{n}', matrix: {n: "
    + str(list(range(600)))
    + "}}}\n": "jobgen.yaml: 500 problems are enough: no others are looked for\n",
}


@pytest.mark.parametrize("text", TOO_MUCH, ids=range(len(TOO_MUCH)))
def test_a_manifest_that_takes_far_more_than_it_says_is_refused(
    text: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobgen.manifest.MOST_VALUES", 1 << 12)
    monkeypatch.setattr("jobgen.manifest.MOST_FILLED", 1 << 17)
    (folder / "jobgen.yaml").write_text(text)
    assert build() == 2
    assert TOO_MUCH[text] in capsys.readouterr().err
    assert not list(folder.glob("*.sh"))


def test_scripts_do_not_fill_the_disk(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "t.j2").write_text("{{ ('x' * 8000000) | raw }}\n")
    many = f"file: 'x/{{n}}.sh', template: t.j2, command: local, matrix: {{n: {list(range(4))}}}"
    (folder / "jobgen.yaml").write_text(f"jobs: {{a: {{{many}}}}}\n")
    monkeypatch.setattr(build_module, "MOST_BYTES", 20_000_000)
    assert build() == 2
    assert capsys.readouterr().err == (
        "jobgen: all scripts: they have more than 20000000 bytes; smaller ones, or several "
        "manifests [limit]\n"
    )
    assert not (folder / "x").exists()


def test_a_full_disk_is_said_with_its_place(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Path("/dev/full").open("r+b", buffering=0) as full:
        monkeypatch.setattr(build_module.tempfile, "TemporaryFile", lambda **_: full)
        assert build() == 2
    assert capsys.readouterr().err == (
        "jobgen: $TMPDIR: the scripts cannot be kept until all are made: No space left on device; "
        "a folder with room for all of them [output]\n"
    )
    monkeypatch.undo()
    monkeypatch.setattr(build_module.tempfile, "tempdir", "/no/such")
    monkeypatch.chdir(folder)
    assert build() == 2
    assert "jobgen: $TMPDIR: the scripts cannot be kept" in capsys.readouterr().err


def test_a_large_manifest_is_right(folder: Path) -> None:
    """A matrix of 64 keys, and hundreds of jobs that add to what the defaults say."""
    names = ", ".join(f"E{n}: v" for n in range(90))
    jobs = ", ".join(f"j{n}: {{env: {{J: 1}}}}" for n in range(150))
    text = (
        f"defaults: {{profile: eap, env: {{{names}}}, matrix: {{{KEYS}}}, file: 'x/{{name}}.sh'}}"
    )
    (folder / "jobgen.yaml").write_text(f"{text}\njobs: {{{jobs}}}\n")
    assert build() == 0
    assert len(list((folder / "x").iterdir())) == 150


def test_a_problem_and_its_hint_are_cut() -> None:
    """Of thousands, each with all that a file says, a terminal and memory would be full."""
    said = Problem(Mark("f" * 5000), "t" * 5000, "code", "h" * 5000)
    assert (said.text, said.hint) == ("t" * 998 + " …", "h" * 998 + " …")
    assert len(str(said)) < 3100
    assert nearest("x", [f"{'p' * 200}{n}" for n in range(3000)]).count("p") == 256 * 200


def test_a_profile_of_the_repository_is_found_from_anywhere(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "profiles").mkdir()
    (folder / "profiles/mine.yaml").write_text("extends: dgx-a100\naccount: mine\n")
    (folder / "jobgen.yaml").write_text("jobs: {a: {profile: mine, file: jobs/a.sh}}\n")
    monkeypatch.chdir("/")
    assert build(str(folder / "jobgen.yaml")) == 0
    assert "#SBATCH --account=mine\n" in (folder / "jobs/a.sh").read_text()


def test_one_that_is_killed_leaves_whole_files(folder: Path) -> None:
    rates = ", ".join(f"{number}e-6" for number in range(500))
    (folder / "jobgen.yaml").write_text(MANIFEST.replace("0.1, 1e-3", rates))
    process = subprocess.Popen(
        [sys.executable, "-m", "jobgen", "build"], stdout=subprocess.PIPE, cwd=folder
    )
    assert process.stdout is not None
    process.stdout.readline()  # the first is written
    process.send_signal(signal.SIGKILL)
    process.wait()
    written = list((folder / "jobs").glob("*.sh"))
    assert written
    assert handled(lambda: check_all(["jobs"], False, False)) == 0
    assert build() == 0
    assert len(list((folder / "jobs").glob("*.sh"))) == 1501


def test_wrong_usage_is_one_line(tmp_path: Path) -> None:
    done = jobgen("build", cwd=tmp_path)
    assert done.returncode == 2
    said = "jobgen: jobgen.yaml: cannot be read: No such file or directory [unreadable]\n"
    assert done.stderr.decode() == said
