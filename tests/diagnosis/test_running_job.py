"""`jobgen why JOBID` of a job that has not ended: its state, who wrote last, what --stall does."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from jobgen.diagnosis.job_folder.silence import in_words
from tests.diagnosis.job_folders import lost, place_of, stderr_of, traceback, write_folder
from tests.helpers import jobgen

SCONTROL = """\
JobId=7 JobName=a
   JobState={state} Reason={reason} Dependency=(null)
   Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0
   RunTime=00:20:00 TimeLimit=01:00:00 TimeMin=N/A
   WorkDir={folder}
   StdOut={folder}/o.out
"""
QSTAT = """\
Job Id: 7.pbs-a
    Job_Name = fit
    job_state = {state}
    Output_Path = pbs-a:{folder}/o.out
    Join_Path = oe
    resources_used.walltime = 00:20:00
    comment = {reason}
"""


def ask(top: Path, answer: str = SCONTROL, **values: str) -> tuple[int, list[str]]:
    """`jobgen why 7`, where the scheduler answers so: the exit code, and the lines."""
    name = "scontrol" if answer == SCONTROL else "qstat"
    text = answer.format(**{"folder": top, "state": "RUNNING", "reason": "None", **values})
    command = top / "bin" / name
    command.parent.mkdir()
    command.write_text(f"#!/bin/bash\ncat <<'END'\n{text}END\n")
    command.chmod(0o755)
    where = {"PATH": f"{command.parent}:/usr/bin:/bin", "PYTHONPATH": os.getcwd()}
    result = jobgen("why", "7" if name == "scontrol" else "7.pbs-a", cwd=top, env=where)
    return result.returncode, (result.stdout + result.stderr).decode().splitlines()


def written(top: Path, ages: Mapping[str, float], texts: Mapping[str, str]) -> None:
    """The folder of a job that runs, whose files have these ages in seconds."""
    folder = write_folder(top, {"roll-call": "", **texts})
    (folder / "status").unlink()
    now = time.time()
    for name in (*ages, *texts):
        age = ages.get(name, 9000.0)
        os.utime(folder / name, (now - age, now - age))


def test_which_rank_wrote_last_and_when(tmp_path: Path) -> None:
    steps = {f"{place_of(rank)}/stdout.log": f"step {rank}\nstep 8{rank}\n" for rank in range(4)}
    written(tmp_path, {f"{place_of(2)}/stdout.log": 7300.0}, {**steps, "job.sh": "stall\n"})
    assert ask(tmp_path) == (
        1,
        [
            "no failure found: the job is RUNNING, 00:20:00",
            "note: no rank has written for 2 hours; the last was rank 2 on nB: step 82",
            "note: --stall 121 would have ended it by now, with the stack of each rank, and this"
            " command would say who hung, and where; choose three times the longest silence of a"
            " job that went well",
        ],
    )


def test_a_job_that_is_not_silent_needs_no_stall(tmp_path: Path) -> None:
    """The clock of the file system may be ahead, too."""
    written(tmp_path, {stderr_of(1): -600.0}, {stderr_of(1): "  3%|#| 1/30\r  7%|##| 2/30"})
    assert ask(tmp_path)[1][1:] == [
        "note: no rank has written for less than a second; the last was rank 1 on nA:   7%|##| 2/30"
    ]


def test_what_the_stall_of_the_job_will_do(tmp_path: Path) -> None:
    texts = {"job.sh": "#!/bin/bash\njob=7 nodes=2\nstall=20  # minutes\n", stderr_of(0): "x\n"}
    written(tmp_path, {}, texts)
    assert ask(tmp_path)[1][1:] == [
        "note: no rank has written for 2 hours; the last was rank 0 on nA: x",
        "note: its --stall 20: when no rank has written for 20 minutes, each writes its stack, and"
        " the job ends; then ask again, for who hung, and where",
    ]


def test_ranks_without_a_line(tmp_path: Path) -> None:
    written(tmp_path, {}, {})
    (tmp_path / "jobgen-logs" / "7" / "stderr").write_text("")
    assert ask(tmp_path)[1][1:] == ["note: no rank has written a line yet"]


def test_a_job_without_a_folder_has_its_log(tmp_path: Path) -> None:
    """Made by hand, or plain, or with the ranks' files on the nodes' disks."""
    (tmp_path / "o.out").write_text("step 1\ngpu08 rank 5: step 2\n")
    os.utime(tmp_path / "o.out", (0, time.time() - 90000))
    assert ask(tmp_path)[1][1] == (
        "note: no rank has written for 1 day; the last was rank 5 on gpu08: step 2"
    )


def test_a_log_without_labels_has_a_last_line(tmp_path: Path) -> None:
    (tmp_path / "o.out").write_text(f"step {'9' * 300}\n")
    line = ask(tmp_path)[1][1]
    assert line.startswith("note: no rank has written for ")
    assert "; the last line: step 99" in line
    assert len(line) < 230


def test_a_failure_is_found_while_the_job_runs(tmp_path: Path) -> None:
    texts = {**lost(0, 1, 2), stderr_of(3): traceback(3, "ValueError: x")}
    written(tmp_path, {}, texts)
    status, lines = ask(tmp_path)
    assert status == 0
    assert lines[0].startswith("rank 3 on nB failed first: ValueError: x")
    assert "note: the job is RUNNING, 00:20:00" in lines


def test_a_pending_job_has_the_scheduler_s_reason(tmp_path: Path) -> None:
    """Its output is not there yet, which is no news."""
    expected = (1, ["no failure found: the job is PENDING (Resources)"])
    assert ask(tmp_path, state="PENDING", reason="Resources") == expected


@pytest.mark.parametrize(
    ("state", "reason", "expected"),
    [
        ("Q", "Not Running: Insufficient amount of resource: ncpus", "QUEUED (Not Running: Ins"),
        ("R", "Job run at Sun Mar 01 at 10:00 on (a)", "RUNNING, 00:20:00"),
    ],
)
def test_the_state_in_pbs(tmp_path: Path, state: str, reason: str, expected: str) -> None:
    written(tmp_path, {}, {f"{place_of(3)}/stdout.log": "step 4\n"})
    status, lines = ask(tmp_path, QSTAT, state=state, reason=reason)
    assert status == 1
    assert lines[0].startswith(f"no failure found: the job is {expected}")
    silence = ["note: no rank has written for 2 hours; the last was rank 3 on nB: step 4"]
    assert lines[1:2] == silence * (state == "R")


@pytest.mark.parametrize("state", ["C", "F"])
def test_a_job_that_has_ended_has_no_silence(tmp_path: Path, state: str) -> None:
    """C is the state of Torque."""
    written(tmp_path, {}, {stderr_of(0): "x\n"})
    assert ask(tmp_path, QSTAT, state=state, reason="over") == (1, ["no failure found"])


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "less than a second"), (1, "1 second"), (59, "59 seconds"), (61, "1 minute"),
     (7300, "2 hours"), (200000, "2 days")],
)  # fmt: skip
def test_an_age_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
