"""Many scripts: several processes say and write the same as one, and what ends one of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

import pytest

from jobgen.cli.app import run_words
from jobgen.errors import JobgenError, problem
from jobgen.repository import processes
from jobgen.repository.processes import results_in_order

PARENT = os.getpid()
MANIFEST = """\
defaults: {profile: dgx-a100, file: "jobs/{name}-{lr}.sh"}
jobs:
  bert: {matrix: {lr: [1, 2, 3, 4, 5, 6, 7, 8, 9]}, program: [train.py, "{lr}"]}
"""


@pytest.fixture
def several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "ALONE", 2)
    monkeypatch.setattr(processes, "BATCH", 3)
    monkeypatch.setattr(processes, "PART", 2)
    monkeypatch.setattr(processes, "_cpus", lambda: 2)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jobgen.yaml").write_text(MANIFEST)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("several")
def test_results_are_in_order_and_made_by_several_processes() -> None:
    both_work = get_context("fork").Barrier(2)

    def square(number: int) -> tuple[int, int]:
        if number in (2, 4):  # of two parts of the first batch: one child has one of them
            both_work.wait(60)
        return number * number, os.getpid()

    found = list(results_in_order(square, iter(range(12))))
    assert [(item, result[0]) for item, result in found if isinstance(result, tuple)] == [
        (n, n * n) for n in range(12)
    ]
    makers = [result[1] for _, result in found if isinstance(result, tuple)]
    assert makers[:2] == [PARENT] * 2
    assert PARENT not in makers[2:]
    assert len(set(makers)) >= 3
    assert [maker for maker in makers[2:] if Path(f"/proc/{maker}").exists()] == []


@pytest.mark.usefixtures("several")
def test_an_error_of_an_item_is_its_result_with_all_problems() -> None:
    def fail(number: int) -> int:
        if number % 2:
            raise problem(f"item {number}", "odd", "value", "an even one")
        return number

    for item, result in results_in_order(fail, range(9)):
        if item % 2:
            assert isinstance(result, JobgenError)
            assert [each.mark.file for each in result.problems] == [f"item {item}"]
            assert str(result) == f"item {item}: odd; an even one [value]"
        else:
            assert result == item


@pytest.mark.usefixtures("several")
def test_items_of_a_child_that_is_killed_are_done_here() -> None:
    def end_in_a_child(number: int) -> int:
        if number == 4 and os.getpid() != PARENT:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    assert [result for _, result in results_in_order(end_in_a_child, range(9))] == [*range(9)]


@pytest.mark.usefixtures("several")
def test_without_more_processes_all_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", fail)
    assert {result for _, result in results_in_order(lambda _: os.getpid(), range(9))} == {PARENT}


@pytest.mark.usefixtures("several")
def test_children_end_if_the_results_are_not_read_to_their_end() -> None:
    results: Iterator[object] = results_in_order(lambda n: "x" * (1 << 23), range(9))
    for _ in range(4):
        next(results)
    results.close()  # type: ignore[attr-defined]
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.usefixtures("repository")
def test_build_and_check_do_the_same_in_several_processes(
    request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    def outputs() -> list[object]:
        seen: list[object] = []
        jobs = Path("jobs")
        for words in (["build"], ["build", "-n"], ["check", "jobs"], ["check", "--fix", "jobs"]):
            seen += [words, run_words(words), *capsys.readouterr()]
            if words == ["build", "-n"]:
                edited, stale, impossible = (jobs / f"bert-{n}.sh" for n in (4, 6, 8))
                edited.write_text(edited.read_text() + "# mine\n")
                stale.write_text(stale.read_text().replace("profile ", "profile 0", 1))
                impossible.write_text(impossible.read_text().replace("-N", "-Z"))
                (jobs / "bert-9.sh").chmod(0o700)
        seen += [(path.name, path.read_bytes()) for path in sorted(jobs.iterdir())]
        for path in jobs.iterdir():
            path.unlink()
        return seen

    alone = outputs()
    request.getfixturevalue("several")
    assert outputs() == alone


def test_children_end_if_their_parent_is_killed() -> None:
    code = """
import os, sys, time
from jobgen.repository import processes
processes.ALONE, processes._cpus = 0, lambda: 2
def show(number):
    os.write(1, b"%d\\n" % os.getpid())
    time.sleep(0.2)
for _ in processes.results_in_order(show, range(400)):
    pass
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        children = {int(parent.stdout.readline())}
        while len(children) < 2:
            children.add(int(parent.stdout.readline()))
        parent.kill()
        parent.stdout.read()  # to its end: no child has it open any more
    assert parent.pid not in children
