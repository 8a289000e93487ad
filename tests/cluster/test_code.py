"""Jobs that run a copy of the code: what happens to the files meanwhile changes nothing."""

from __future__ import annotations

import os
import random
import shutil

import pytest

from tests.cluster.jobs import ON_CPU, Desk, PbsDesk

PROFILE = ("--profile", "mi210", *ON_CPU, "-N", "2", "-G", "1", "--code", ".")
SHOW = """
import hashlib, os, pathlib, sys
from lib.part7 import VALUE
root = pathlib.Path(__file__).parent
texts = [path.read_bytes() for path in sorted(root.rglob("*.py"))]
print(sys.argv[1], VALUE, len(texts), hashlib.sha256(b"".join(texts)).hexdigest(), os.getcwd())
"""


def write_code(desk: Desk) -> None:
    (desk.folder / "lib").mkdir()
    for number in range(300):
        (desk.folder / f"lib/part{number}.py").write_text(f"VALUE = {number}\n")
    desk.program("show.py", SHOW)


def disturb(desk: Desk, steps: int) -> None:
    """Edits, removals and renames of files at random."""
    choose = random.Random(7)
    for step in range(steps):
        file = choose.choice(sorted((desk.folder / "lib").iterdir()))
        act = choose.choice(("edit", "edit", "remove", "rename"))
        if act == "edit":
            file.write_text(f"VALUE = 'edited {step}'\n")
        elif act == "remove" and len(os.listdir(desk.folder / "lib")) > 10:
            file.unlink()
        else:
            file.rename(file.with_name(f"renamed{step}.py"))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("default", ("show.py",)),
        ("--plain", ("-m", "show")),
        pytest.param("default", ("-m", "show"), marks=pytest.mark.thorough),
        pytest.param("--plain", ("show.py",), marks=pytest.mark.thorough),
    ],
)
def test_a_thousand_changes_while_the_job_waits(
    desk: Desk, kind: str, words: tuple[str, ...]
) -> None:
    write_code(desk)
    options = PROFILE if kind == "default" else (*PROFILE, kind)
    before = desk.run(*options, "--", *words, "ran")
    assert before.exit_code == 0, before.output
    job = desk.submit(*options, "--", *words, "ran", options=["--hold"])
    disturb(desk, 1000)
    (desk.folder / "show.py").write_text("raise SystemExit('edited')\n")
    desk.cluster.run(["scontrol", "release", str(job)])
    after = desk.cluster.wait(job, 120)
    assert after.exit_code == 0, after.output
    lines = [
        sorted(line.partition("ran ")[2] for line in each.output.splitlines() if "ran " in line)
        for each in (before, after)
    ]
    assert lines[0] == lines[1]
    assert len(lines[0]) == 2
    assert lines[0][0].startswith("7 301 ")
    assert lines[0][0].endswith(str(desk.folder))  # the working folder is the one of submission


def test_a_copy_that_was_changed_runs_nothing(desk: Desk) -> None:
    write_code(desk)
    job = desk.submit(*PROFILE, "--", "show.py", "ran", options=["--hold"])
    (copy,) = (desk.folder / ".jobgen/store/code").glob("*[0-9a-f]")
    (copy / "lib").chmod(0o755)
    (copy / "lib/part3.py").chmod(0o644)
    (copy / "lib/part3.py").write_text("VALUE = 'other'\n")
    desk.cluster.run(["scontrol", "release", str(job)])
    done = desk.cluster.wait(job, 120)
    assert done.exit_code == 1, done.output
    assert "the copy of the code is not what was submitted" in done.output
    assert "lib/part3.py" in done.output
    assert not any(line.startswith("ran ") or ": ran " in line for line in done.output.splitlines())
    shutil.rmtree(copy, ignore_errors=True)


SAY = """#!/bin/bash
echo "ran on node $JOBGEN_NODE from ${0%/*}, in $PWD, $(cat "${0%/*}/word")"
"""


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("default", ("-N", "1")),
        pytest.param("default", ("-N", "2", "--launcher", "srun"), marks=pytest.mark.thorough),
        pytest.param("--plain", ("-N", "1"), marks=pytest.mark.thorough),
        pytest.param("--plain", ("-N", "2", "--launcher", "srun"), marks=pytest.mark.thorough),
    ],
)
def test_one_node_and_ranks_of_srun(desk: Desk, kind: str, words: tuple[str, ...]) -> None:
    write_code(desk)
    options = (*PROFILE, *words, *(() if kind == "default" else (kind,)))
    job = desk.submit(*options, "--", "-m", "show", "ran", options=["--hold"])
    disturb(desk, 50)
    (desk.folder / "show.py").write_text("raise SystemExit('edited')\n")
    desk.cluster.run(["scontrol", "release", str(job)])
    done = desk.cluster.wait(job, 120)
    assert done.exit_code == 0, done.output
    assert done.output.count("ran 7 301 ") == int(words[1]), done.output


@pytest.mark.parametrize("kind", ["default", "--plain"])
def test_pbs(pbs: PbsDesk, kind: str) -> None:
    code = pbs.folder / "code"
    code.mkdir()
    (code / "say.sh").write_text(SAY)
    (code / "say.sh").chmod(0o755)
    (code / "word").write_text("as submitted")
    options = ("-N 2 --launcher node --code code --set software.store=$PWD/store").split()
    script = pbs.script(*options, *(() if kind == "default" else (kind,)), "--", "./say.sh")
    (code / "word").write_text("edited")
    done = pbs.site.wait(pbs.send(script), pbs.folder)
    assert done.status == 0, done.output
    (copy,) = (pbs.folder / "store/code").glob("*[0-9a-f]")
    for node in (0, 1):
        line = f"ran on node {node} from {copy}/., in {pbs.folder}, as submitted"
        assert line in done.output, done.output
    (copy / "word").chmod(0o644)
    (copy / "word").write_text("changed")
    done = pbs.site.wait(pbs.send(script), pbs.folder)
    assert done.status == 1, done.output
    assert f"the copy of the code is not what was submitted, {copy}: word: " in done.output
    assert "ran on node" not in done.output
