"""An array of which some jobs failed: the verdict is on these, in any order of the answers."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from jobgen.diagnosis.events import Verdict
from jobgen.diagnosis.named_input import verdict_on_words

HANDLED = """\
Traceback (most recent call last):
  File "/p/data.py", line 9, in load
    read(path)
OSError: [Errno 5] Input/output error
"""
FAILED = """\
step 1
Traceback (most recent call last):
  File "/p/train.py", line 30, in <module>
    main()
ValueError: the rate is negative
"""
WELL = f"step 1\n{HANDLED}"  # whose script went on
LOGS = {"fit-10_1.out": FAILED, "fit-10_2.out": WELL}
NOTE = "10_2 ended well: this is about 10_1"
TABLE = """\
JobID|State|ExitCode
10_1|FAILED|1:0
10_1.batch|FAILED|1:0
10_2|COMPLETED|0:0
10_2.0|OUT_OF_MEMORY|0:125
"""


def record(task: int, state: str, code: str = "0:0") -> str:
    """A record of scontrol, Slurm 23.11."""
    return f"""\
JobId={task + 10} ArrayJobId=10 ArrayTaskId={task} JobName=fit
   UserId=ada(1000) GroupId=ada(1000) MCS_label=N/A
   JobState={state} Reason=None Dependency=(null)
   Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode={code}
   StartTime=2026-03-01T10:00:00 EndTime=2026-03-01T10:02:01 Deadline=N/A
   NodeList=gn[03-04]
   BatchHost=gn03
   WorkDir={{folder}}
   StdErr={{folder}}/fit-10_{task}.out
   StdOut={{folder}}/fit-10_{task}.out

"""


BOTH = [record(1, "FAILED", "1:0"), record(2, "COMPLETED")]
ORDERS = ["".join(each) for each in permutations(BOTH)]


def saved(folder: Path, files: dict[str, str]) -> Verdict:
    """The verdict on these files, in this order."""
    for name, text in files.items():
        (folder / name).write_text(text)
    return verdict_on_words([str(folder / name) for name in files])


def cited(verdict: Verdict) -> set[str]:
    return {Path(event.file).name for event in verdict.chain}


@pytest.mark.parametrize("answer", ORDERS)
@pytest.mark.parametrize("first", [True, False])
def test_a_saved_answer(tmp_path: Path, answer: str, first: bool) -> None:
    files = {"a.txt": answer, **LOGS} if first else {**LOGS, "a.txt": answer}
    verdict = saved(tmp_path, files)
    assert (verdict.says, verdict.notes) == ("ValueError: the rate is negative", (NOTE,))
    assert cited(verdict) == {"a.txt", "fit-10_1.out"}


@pytest.mark.parametrize("order", [BOTH, BOTH[::-1]])
def test_an_answer_for_each_job(tmp_path: Path, order: list[str]) -> None:
    verdict = saved(tmp_path, {"a.txt": order[0], "b.txt": order[1], **LOGS})
    assert (verdict.says, verdict.notes) == ("ValueError: the rate is negative", (NOTE,))


@pytest.mark.parametrize("answer", ORDERS)
def test_the_answer_alone_names_the_job_that_failed(tmp_path: Path, answer: str) -> None:
    verdict = saved(tmp_path, {"a.txt": answer})
    assert verdict.evidence[0].text.endswith("JobId=11 ArrayTask=10_1")
    assert (verdict.code, verdict.notes) == (None, (NOTE,))


def test_a_time_limit_of_one_job_is_a_failure_although_another_ended_well_later(
    tmp_path: Path,
) -> None:
    verdict = saved(tmp_path, {"a.txt": record(1, "TIMEOUT", "0:15") + BOTH[1]})
    assert (verdict.code, verdict.notes) == ("scheduler-limit", (NOTE,))


def test_a_table_of_sacct_may_have_all_jobs_of_an_array(tmp_path: Path) -> None:
    verdict = saved(tmp_path, {"a.txt": TABLE, **LOGS})
    assert (verdict.says, verdict.notes) == ("ValueError: the rate is negative", (NOTE,))
    assert cited(verdict) == {"a.txt", "fit-10_1.out"}


def test_an_array_that_ended_well_has_no_failure(tmp_path: Path) -> None:
    verdict = saved(tmp_path, {"a.txt": BOTH[1] + record(3, "COMPLETED"), "fit-10_2.out": WELL})
    assert (verdict.code, verdict.notes) == (None, ())


def test_one_that_runs_is_no_failure(tmp_path: Path) -> None:
    verdict = saved(tmp_path, {"a.txt": record(3, "RUNNING") + BOTH[1], "fit-10_2.out": WELL})
    assert (verdict.code, verdict.evidence) == (None, ())
    assert verdict.notes == ("10_2 ended well",)


@pytest.mark.parametrize("name", ["fit-10_21.out", "fit-110_2.out", "fit-10.out", "step-12.out"])
def test_other_numbers_in_the_name_of_a_log_are_no_job_of_the_array(
    tmp_path: Path, name: str
) -> None:
    assert saved(tmp_path, {"a.txt": ORDERS[0], name: FAILED}).code == "python-exception"


@pytest.mark.parametrize("answer", ORDERS)
@pytest.mark.parametrize("command", ["scontrol", "sacct"])
def test_the_scheduler_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, command: str
) -> None:
    for name, text in LOGS.items():
        (tmp_path / name).write_text(text)
    texts = {"scontrol": answer.format(folder=tmp_path), "sacct": _accounts(answer, tmp_path)}
    for name in ("scontrol", "sacct"):
        script = tmp_path / "bin" / name
        script.parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.txt").write_text(texts[name])
        text = f"/bin/cat {tmp_path}/{name}.txt" if name == command else "exit 1"
        script.write_text(f"#!/bin/bash\n{text}\n")
        script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.chdir(tmp_path)
    verdict = verdict_on_words(["10"])
    assert (verdict.says, verdict.notes) == ("ValueError: the rate is negative", (NOTE,))
    assert cited(verdict) == {"scheduler", "fit-10_1.out"}


def _accounts(answer: str, folder: Path) -> str:
    """The records of sacct on the same jobs in the same order."""
    rows = {
        task: [state, f"10_{task}", code, *[""] * 8, f"1{task}", "fit", "ada", str(folder)]
        for task, state, code in ((1, "FAILED", "1:0"), (2, "COMPLETED", "0:0"))
    }
    paths = {task: [f"{folder}/fit-10_{task}.out"] * 2 for task in rows}
    order = sorted(rows, key=lambda task: answer.index(f"ArrayTaskId={task}"))
    return "\n".join("\x1f".join([*rows[task], "", *paths[task]]) for task in order)
