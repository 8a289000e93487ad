"""`jobgen build --submit`: what is submitted, in which order, and how the jobs are followed."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jobgen.campaign import follow_jobs, states, submit_jobs
from jobgen.campaign.attempts import Attempt, State
from jobgen.campaign.campaign import Wish, build_and_submit
from jobgen.campaign.follow_jobs import Follower
from jobgen.campaign.forms import WHERE_AND_WHEN, Form, form_of
from jobgen.campaign.jobs import Job
from jobgen.campaign.lanes import BACK, predecessors
from jobgen.campaign.states import read_states
from jobgen.campaign.submit_jobs import locked
from jobgen.campaign.table import Table
from jobgen.cli.app import run_words
from jobgen.errors import run_command
from jobgen.planning.job_options import OPTIONS
from jobgen.repository.build import BuildOptions
from jobgen.runs.records import note_submission, read_records
from jobgen.submission.ending import array_size
from jobgen.submission.machine import Answer
from jobgen.submission.queues import pbs_queue, slurm_queue
from jobgen.submission.queues.job_queue import ArrayJob, JobStatus
from jobgen.submission.queues.own_jobs import NoAnswer, by_number, ended_jobs, own_jobs
from tests.emulated_slurm import EmulatedSlurm

MANIFEST = """\
defaults: {profile: dgx-a100, nodes: 1, file: "jobs/{name}-{lr}.sh"}
jobs:
  bert: {matrix: {lr: [1, 2, 3]}, program: [train.py, "{lr}"]}
"""
# Each numbers its jobs from 12, and notes its words; `wait` makes it slow.
SUBMIT = """\
#!/bin/bash
echo "${0##*/} $*" >> calls
until [[ ! -e wait ]]; do sleep 0.05; done
[[ ! -e refuse ]] || { echo "${0##*/}: error: too many jobs" >&2; exit 1; }
n=$(($(cat number 2> /dev/null || echo 11) + 1)); echo $n > number
name=$(sed -nE 's/^#(SBATCH --job-name=|PBS -N )//p')
echo "$n $name" >> queue
echo $n
"""
SQUEUE = """\
#!/bin/bash
echo "squeue $*" >> calls
[[ ! -e down ]] || { echo "squeue: error: Unable to contact slurm controller" >&2; exit 1; }
touch queue
while read -r n name; do
  printf '%s\\x1f' $n PENDING 0:00 None "$name" "$(pwd -P)"
  echo 2026-01-01T00:00:00
done < queue
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a manifest, and the scheduler's commands, which keep their files in it."""
    (tmp_path / "jobgen.yaml").write_text(MANIFEST)
    (tmp_path / "train.py").touch()
    (tmp_path / "bin").mkdir()
    for name, text in {"sbatch": SUBMIT, "qsub": SUBMIT, "squeue": SQUEUE}.items():
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    return tmp_path


def calls(folder: Path, name: str) -> list[str]:
    """The words of each call of a command."""
    lines = (folder / "calls").read_text().splitlines() if (folder / "calls").exists() else []
    return [line.partition(" ")[2] for line in lines if line.startswith(f"{name} ")]


def lines(capsys: pytest.CaptureFixture[str]) -> tuple[list[str], list[str]]:
    out, err = capsys.readouterr()
    return out.splitlines(), err.splitlines()


# ---- what is submitted ----


def test_each_job_is_submitted_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_words(["build", "--submit"]) == 0
    out, err = lines(capsys)
    paths = [f"jobs/bert-{n}.sh" for n in (1, 2, 3)]
    submitted = [f"{path}: job {n}" for n, path in enumerate(paths, 12)]
    assert out == [*(f"{path}: written" for path in paths), *submitted]
    warning, counts = err[1:]  # one warning for all jobs
    edit = "--submit: an edit of train.py before the job starts changes the job"
    assert warning.startswith(f"jobgen: warning: {edit}; with `code: .` in `defaults`")
    assert counts == "jobgen: 3 jobs: 3 submitted"
    records = read_records(folder / "jobgen-logs")
    assert [each.job for each in records] == ["12", "13", "14"]
    assert run_words(["build", "--submit"]) == 0
    assert lines(capsys)[1][1:] == ["jobgen: 3 jobs: 3 in the queue already"]
    assert len(calls(folder, "sbatch")) == 3
    assert len(calls(folder, "squeue")) == 1


@pytest.mark.parametrize(
    ("values", "logs"),
    [
        ({"request.chdir": "runs"}, "runs/jobgen-logs"),
        ({"request.chdir": "runs", "request.log_folder": "$PWD/a"}, "runs/a"),
        ({"request.log_folder": "$WORK_HERE/a$$b"}, "there/a$b"),
    ],
)
def test_the_records_are_in_the_folder_of_the_job(
    folder: Path, values: dict[str, str], logs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORK_HERE", f"{folder}/there")
    text = MANIFEST.replace("{profile", f"{{set: {json.dumps(values)}, profile")
    (folder / "jobgen.yaml").write_text(text)
    (folder / "runs").mkdir()
    assert run_words(["build", "--submit"]) == 0
    assert [each.job for each in read_records(folder / logs)] == ["12", "13", "14"]


@pytest.mark.parametrize("key", ["request.log_folder", "request.chdir"])
def test_a_folder_of_records_that_is_not_known_here(
    folder: Path, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = MANIFEST.replace("{profile", f"{{set: {{{key}: $NOT_SET_HERE}}, profile")
    (folder / "jobgen.yaml").write_text(text.replace("dgx-a100", "eap"))  # of PBS
    assert run_command(lambda: run_words(["build", "--submit"])) == 2
    assert f"{key}: $NOT_SET_HERE is not set here" in lines(capsys)[1][-1]
    assert calls(folder, "qsub") == []


def test_a_dry_run_submits_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_words(["build", "--submit", "--dry-run", "--only", "bert-[12]"]) == 1
    out, err = lines(capsys)
    assert out[3:] == [f"jobs/bert-{n}.sh: would be submitted: not submitted yet" for n in (1, 2)]
    assert err[1:] == ["jobgen: 2 jobs: 2 to be submitted"]
    assert calls(folder, "sbatch") == []


def test_a_changed_or_failed_job_is_submitted_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["build", "--submit"]) == 0
    (folder / "queue").unlink()
    record = folder / "jobgen-logs"
    for job, status in (("12", 0), ("13", 0), ("14", 1)):
        values = json.loads((record / f"{job}.json").read_text())
        (record / f"{job}.json").write_text(json.dumps({**values, "end": 1, "status": status}))
    text = (folder / "jobgen.yaml").read_text()
    (folder / "jobgen.yaml").write_text(text.replace("[1, 2, 3]", "[1, 2, 3, 4]"))
    (folder / "jobs/bert-2.sh").unlink()
    capsys.readouterr()
    assert run_words(["build", "--submit"]) == 0
    out, err = lines(capsys)
    again = "jobs/bert-3.sh: job 15 (job 14 ended with status 1)"
    assert out[2:] == [again, "jobs/bert-4.sh: job 16"]
    assert err[-1] == "jobgen: 4 jobs: 2 submitted, 2 succeeded before"
    (folder / "jobgen.yaml").write_text(text.replace("train.py,", "train.py, --more,"))
    assert run_words(["build", "--submit", "--only", "bert-1", "--only", "bert-2"]) == 0
    assert lines(capsys)[0][3:] == ["jobs/bert-1.sh: job 17", "jobs/bert-2.sh: job 18"]


def end_all(folder: Path, *statuses: int) -> None:
    """The jobs 12, 13, … end and leave the queue."""
    (folder / "queue").write_text("")
    for job, status in enumerate(statuses, 12):
        record = folder / f"jobgen-logs/{job}.json"
        values = {**json.loads(record.read_text()), "end": 1, "status": status}
        record.write_text(json.dumps(values))


CHANGED = [
    "jobgen: 2 of them were submitted before a change of code",
    "jobgen:   changed: train.py; new: results/0.json, results/1.json, results/2.json and 2 more",
    "jobgen:   results and the like are no code: .gitignore or .jobgenignore leaves them out",
    "jobgen:   --changed submits those again that have succeeded",
]


def test_results_beside_the_program_submit_nothing_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "jobgen.yaml").write_text(MANIFEST.replace("{profile", "{code: ., profile"))
    (folder / ".jobgenignore").write_text("bin\ncalls\nnumber\nqueue\n")
    assert run_words(["build", "--submit"]) == 0
    assert "edit" not in capsys.readouterr().err
    end_all(folder, 0, 0, 1)
    (folder / "results").mkdir()
    for number in range(5):
        (folder / f"results/{number}.json").touch()
    (folder / "train.py").write_text("print()")
    assert run_words(["build", "--submit"]) == 0
    out, err = lines(capsys)
    assert out[3:] == ["jobs/bert-3.sh: job 15 (job 14 ended with status 1)"]
    assert err[0].startswith("jobgen: code: 8 files, 1 kB, in ")
    assert err[2:] == ["jobgen: 3 jobs: 1 submitted, 2 succeeded before", *CHANGED]
    (folder / "results/5.json").touch()  # the one in the queue runs as it was submitted
    assert run_words(["build", "--submit"]) == 0
    out, err = lines(capsys)
    assert out[3:] == []
    assert err[3] == "jobgen: 3 of them were submitted before a change of code"
    assert err[-2:] == [
        "jobgen:   those in the queue run as they were; this cancels them, to submit them anew:",
        "jobgen:     scancel 15",
    ]
    assert run_words(["build", "--submit", "--changed", "--dry-run"]) == 1
    out, err = lines(capsys)
    assert out[0] == "jobs/bert-1.sh: would be submitted: job 12 was before a change of code"
    assert err[1] == "jobgen: 3 jobs: 2 to be submitted, 1 in the queue already"
    assert run_words(["build", "--submit", "--changed"]) == 0
    out, err = lines(capsys)
    assert out[0] == "jobs/bert-1.sh: job 16 (job 12 was before a change of code)"
    assert run_words(["build", "--submit", "--changed"]) == 0
    assert lines(capsys)[0] == []  # they are in the queue now
    end_all(folder, 0, 0, 1, 0, 0, 1)
    assert run_words(["build", "--submit", "--only", "bert-[12]"]) == 0
    assert lines(capsys)[0] == ["jobs/bert-2.sh: job 18 (job 17 ended with status 1)"]


def test_a_longer_walltime_is_for_those_that_failed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["build", "--submit"]) == 0
    end_all(folder, 0, 1, 0)
    more = "code: ., time: 60, set: {request.memory: 64G}, directive: --nice=5"
    (folder / "jobgen.yaml").write_text(MANIFEST.replace("{profile", f"{{{more}, profile"))
    capsys.readouterr()
    assert run_words(["build", "--submit"]) == 0
    out, err = lines(capsys)
    assert out[3:] == ["jobs/bert-2.sh: job 15 (job 13 ended with status 1)"]
    assert err[-2:] == [
        "jobgen: 2 of them were submitted before a change of code, options",
        "jobgen:   --changed submits those again that have succeeded",
    ]


def test_the_options_that_change_no_result() -> None:
    assert set(WHERE_AND_WHEN) < set(OPTIONS)


def test_a_job_that_a_cut_off_run_submitted_with_other_code_is_found(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "jobgen.yaml").write_text(MANIFEST.replace("{profile", "{code: ., profile"))
    (folder / ".jobgenignore").write_text("bin\ncalls\nnumber\nqueue\n")
    assert run_words(["build", "--submit"]) == 0
    (folder / "jobgen-logs/13.json").unlink()
    (folder / "result").touch()
    assert run_words(["build", "--submit"]) == 0
    assert "job 13 was submitted by a run that was cut off" in capsys.readouterr().err
    assert len(calls(folder, "sbatch")) == 3
    (record,) = [each for each in read_records(folder / "jobgen-logs") if each.job == "13"]
    assert record.script_file.exists()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--changed"], "--changed: it works only with --submit; add --submit, or --wait"),
        (["--submit", "--only", "bart"], "--only bart: no job has this name; did you mean `bert`?"),
        (["--submit", "--only", ""], "--only '': no job has this name; one of:"),
        (["--only", "bert"], "--only: it works only with --submit; add --submit, or --wait"),
        (["--at-once", "2"], "--at-once: it works only with --submit; add --submit, or --wait"),
    ],
)
def test_wrong_options(
    folder: Path, words: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(lambda: run_words(["build", *words])) == 2
    assert text in lines(capsys)[1][-1]
    assert not (folder / "jobs").exists()
    assert calls(folder, "sbatch") == []


def test_nothing_is_submitted_if_a_script_is_wrong(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "jobgen.yaml").write_text(MANIFEST + "  bad: {matrix: {lr: [1]}, nodes: none}\n")
    assert run_command(lambda: run_words(["build", "--submit"])) == 2
    clusters = "  far: {matrix: {lr: [1]}, directive: --clusters=east}\n"
    (folder / "jobgen.yaml").write_text(MANIFEST + clusters)
    assert run_command(lambda: run_words(["build", "--submit"])) == 2
    assert "set SLURM_CLUSTERS=NAME where you submit" in lines(capsys)[1][-1]
    same = MANIFEST.replace('program: [train.py, "{lr}"]', "name: same")
    (folder / "jobgen.yaml").write_text(same)
    assert run_command(lambda: run_words(["build", "--submit"])) == 2
    text = "jobs/bert-3.sh does the same as jobs/bert-1.sh: they are one job"
    assert text in lines(capsys)[1][-1]
    assert not (folder / "jobs").exists()
    assert calls(folder, "sbatch") == []


def test_nothing_is_submitted_if_the_queue_is_not_known(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_words(["build", "--submit"]) == 0
    (folder / "down").touch()
    assert run_command(lambda: run_words(["build", "--submit"])) == 2
    error = "jobgen: --submit: squeue: error: Unable to contact slurm controller; nothing was"
    assert lines(capsys)[1][-1].startswith(error)
    assert len(calls(folder, "sbatch")) == 3


def test_a_script_without_a_queue_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "jobgen.yaml").write_text(MANIFEST + "  here: {profile: local, file: here.sh}\n")
    assert run_words(["build", "--submit", "--only", "bert-1"]) == 0
    out, err = lines(capsys)
    assert out[-1] == "jobs/bert-1.sh: job 12"
    assert "jobgen: here.sh: not submitted: it is for no scheduler's queue" in err


def test_what_a_refusal_leaves(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bin/sbatch").write_text(SUBMIT + "[[ $n != 13 ]] || touch refuse\n")
    assert run_words(["build", "--submit"]) == 2
    out, err = lines(capsys)
    assert out[3:] == ["jobs/bert-1.sh: job 12", "jobs/bert-2.sh: job 13"]
    assert err[2:] == [
        "jobgen: jobs/bert-3.sh: sbatch did not take it: sbatch: error: too many jobs",
        "jobgen: 2 of 3 jobs are submitted; not submitted:",
        "jobgen:   jobs/bert-3.sh",
        "jobgen: when the cause is mended, the same command goes on",
    ]
    (folder / "refuse").unlink()
    assert run_words(["build", "--submit"]) == 0
    assert lines(capsys)[0] == ["jobs/bert-3.sh: job 14"]


def test_a_job_whose_record_cannot_be_written_is_counted(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail_at(job: str) -> None:
        def note(logs: Path, new: str, *more: Any) -> None:
            if new == job:
                raise OSError(errno.ENOSPC, "No space left on device")
            note_submission(logs, new, *more)

        monkeypatch.setattr(submit_jobs, "note_submission", note)

    fail_at("13")
    assert run_words(["build", "--submit", "--at-once", "1"]) == 2
    out, err = lines(capsys)
    assert out[3:] == ["jobs/bert-1.sh: job 12"]
    text = f"its record cannot be written in {folder}/jobgen-logs: No space left on device"
    assert err[2:] == [
        f"jobgen: jobs/bert-2.sh: it is submitted as job 13, but {text}",
        "jobgen: 2 of 3 jobs are submitted; not submitted:",
        "jobgen:   jobs/bert-3.sh",
        "jobgen: when the cause is mended, the same command goes on",
    ]
    fail_at("14")
    assert run_words(["build", "--submit"]) == 2
    assert lines(capsys)[1][-2] == "jobgen: 1 of 1 jobs are submitted"
    assert len(calls(folder, "sbatch")) == 3


# ---- kills, and two at once ----


def start(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "jobgen", "build", "--submit"]
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    root = str(Path(__file__).parents[1])
    return subprocess.Popen(command, cwd=folder, env={**os.environ, "PYTHONPATH": root}, **quiet)


def await_call(folder: Path, number: int) -> None:
    limit = time.monotonic() + 60
    while len(calls(folder, "sbatch")) < number:
        assert time.monotonic() < limit
        time.sleep(0.05)


@pytest.mark.slow
def test_two_at_once_submit_no_job_twice(folder: Path) -> None:
    (folder / "wait").touch()
    first, second = start(folder), start(folder)
    await_call(folder, 1)
    time.sleep(0.5)
    (folder / "wait").unlink()
    outputs = [process.communicate(timeout=60)[0].decode() for process in (first, second)]
    assert len(calls(folder, "sbatch")) == 3, outputs
    assert sum("3 jobs: 3 submitted" in text for text in outputs) == 1
    assert sum("3 jobs: 3 in the queue already" in text for text in outputs) == 1


@pytest.mark.slow
def test_a_kill_while_sbatch_works_loses_no_job(folder: Path) -> None:
    """The next run waits for that sbatch, which has the lock, and finds its job by the name."""
    (folder / "wait").touch()
    first = start(folder)
    await_call(folder, 1)
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=60)
    second = start(folder)
    assert second.stdout
    while b"another `jobgen build --submit` is at work here" not in second.stdout.readline():
        assert second.poll() is None
    assert len(calls(folder, "sbatch")) == 1
    (folder / "wait").unlink()
    text = second.communicate(timeout=60)[0].decode()
    assert "bert-1: job 12 was submitted by a run that was cut off" in text
    assert "3 jobs: 2 submitted, 1 in the queue already" in text
    assert len(calls(folder, "sbatch")) == 3


def test_the_lock_is_free_after_its_holder(folder: Path) -> None:
    for _ in range(2):
        with locked(folder) as handle:
            assert handle


def test_of_jobs_with_one_name_the_one_is_found_that_was_cut_off(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "jobgen.yaml").write_text(MANIFEST.replace("program", "name: same, program"))
    assert run_words(["build", "--submit"]) == 0
    (folder / "jobgen-logs/13.json").unlink()
    capsys.readouterr()
    assert run_words(["build", "--submit"]) == 0
    out, err = lines(capsys)
    assert (out, err[1:]) == (
        [],
        [
            "jobgen: same: job 13 was submitted by a run that was cut off",
            "jobgen: 3 jobs: 3 in the queue already",
        ],
    )
    script = (folder / "jobs/bert-2.sh").read_bytes()
    (record,) = [each for each in read_records(folder / "jobgen-logs") if each.job == "13"]
    assert record.script == hashlib.sha256(script).hexdigest()


# ---- --at-once ----


def test_at_once_waits_by_dependencies(folder: Path) -> None:
    text = MANIFEST.replace("program", "after: ['7:ok', '8:any'], program")
    (folder / "jobgen.yaml").write_text(text)
    assert run_words(["build", "--submit", "--at-once", "1"]) == 0
    own = "--parsable --dependency=afterok:7,afterany:8"
    assert calls(folder, "sbatch") == [
        "--parsable", f"{own},afterany:12", f"{own},afterany:12:13"
    ]  # fmt: skip


def test_at_once_on_pbs(folder: Path) -> None:
    text = MANIFEST.replace("dgx-a100", "eap").replace("program", "after: '7.pbs', program")
    (folder / "jobgen.yaml").write_text(text)
    assert run_words(["build", "--submit", "--at-once", "2"]) == 0
    assert calls(folder, "qsub") == ["", "", "-W depend=afterok:7.pbs,afterany:12"]


def test_the_lanes() -> None:
    assert [predecessors([], list("abcd")[:n], 2) for n in range(5)] == [
        [], [], ["a"], ["b"], ["a", "c"]
    ]  # fmt: skip
    # Jobs that are in the queue already may all run at once.
    assert predecessors(["q", "r", "s"], [], 2) == ["q", "r"]
    assert predecessors(["q", "r", "s"], ["a"], 2) == ["q", "r", "s"]
    assert predecessors(["q"], [], 2) == []
    assert predecessors(["q"], ["a"], 2) == ["q"]
    many = [f"n{number}" for number in range(20)]
    assert predecessors(["q"], many, 1) == many[-BACK:]


@pytest.mark.parametrize(
    ("array", "size"), [("", 1), ("0-9%2", 10), ("0-15:4", 4), ("1,4,7-9", 5), ("3", 1)]
)
def test_the_size_of_an_array(array: str, size: int) -> None:
    assert array_size(array) == size


# ---- the state of a job ----


def job(slurm: EmulatedSlurm, name: str = "a", **more: object) -> Job:
    folder = slurm.folder
    script = f"#!/bin/bash\n#SBATCH --job-name={name}\n".encode()
    (folder / f"{name}.sh").write_bytes(script)
    logs = folder / "jobgen-logs"
    note_submission(logs, "1", script)
    path = folder / f"{name}.sh"
    return Job(path, (name,), "slurm", form_of(script), logs, machine=slurm, **more)  # type: ignore[arg-type]


def write_record(logs: Path, name: str, **values: object) -> None:
    script = next(iter(read_records(logs))).script
    (logs / f"{name}.json").write_text(json.dumps({"job": name, "script": script, **values}))


@pytest.fixture
def slurm(tmp_path: Path) -> EmulatedSlurm:
    machine = EmulatedSlurm(tmp_path)
    machine.run(["sbatch"], b"#SBATCH --job-name=a\n")
    return machine


def test_what_the_scheduler_knows_is_kept(tmp_path: Path, slurm: EmulatedSlurm) -> None:
    """A job that is cancelled while it waits, or whose script is plain, writes no end."""
    own = job(slurm)
    assert read_states([own])[0].attempts[0].of_queue == JobStatus("PENDING")
    slurm.jobs["1"].state = "COMPLETED"
    assert read_states([own])[0].succeeded
    slurm.jobs["1"].is_forgotten = True
    slurm.calls.clear()
    assert read_states([own])[0].succeeded
    assert slurm.calls == []


def test_a_job_that_nobody_knows(tmp_path: Path, slurm: EmulatedSlurm) -> None:
    slurm.jobs["1"].is_forgotten = True
    (state,) = read_states([job(slurm)])
    assert (state.is_due(), state.reason) == (True, "job 1 ended without a word")
    (state,) = read_states([job(slurm, keeps_record=False)])
    assert (state.is_due(), state.is_unknown) == (False, True)


def test_a_success_that_was_ended_from_outside_is_none(
    tmp_path: Path, slurm: EmulatedSlurm
) -> None:
    own = job(slurm)
    slurm.jobs["1"].is_forgotten = True
    write_record(own.logs, "1", begin=1, end=2, status=0, outside="TERM")
    assert read_states([own])[0].reason == "job 1 ended with status 1"


def test_an_array_has_succeeded_when_all_its_jobs_have(
    tmp_path: Path, slurm: EmulatedSlurm
) -> None:
    own = job(slurm, array="0-1")
    slurm.jobs["1"].is_forgotten = True
    write_record(own.logs, "1_0", end=2, status=0)
    assert read_states([own])[0].is_due()
    write_record(own.logs, "1_1", end=2, status=3)
    assert read_states([own])[0].reason == "job 1 ended with status 3"
    write_record(own.logs, "1_1", end=2, status=0)
    assert read_states([own])[0].succeeded


@pytest.mark.parametrize("last", ["1_9", "1_8 1_9"])
def test_an_array_of_which_the_queue_has_forgotten_jobs(slurm: EmulatedSlurm, last: str) -> None:
    own = job(slurm, array="0-9%1", keeps_record=False)
    first = slurm.jobs.pop("1")
    for name in last.split():
        slurm.jobs[name] = replace(first, id=name, state="COMPLETED")
    (state,) = read_states([own])
    assert (state.exit_status, state.is_unknown) == (None, True)
    ends = {number: "FAILED" if number == 3 else "COMPLETED" for number in range(10)}
    slurm.accounting = "".join(f"1_{number}|{end}\n" for number, end in ends.items())
    assert read_states([own])[0].reason == "job 1 ended with status 1"
    assert read_records(own.logs)[0].status == 1


@pytest.mark.parametrize(
    ("line", "succeeded"),
    [
        ("job 2 is done: the program ended by itself, with 0", True),
        ("job 2 stopped without progress: it failed with status 1", False),
        ("job 2 goes on: it was ended from outside, as at the walltime", False),
    ],
)
def test_a_chain_says_itself_whether_it_is_done(
    tmp_path: Path, slurm: EmulatedSlurm, line: str, succeeded: bool
) -> None:
    own = job(slurm, array="1-9%1", is_chain=True)
    slurm.jobs["1"].state = "COMPLETED"
    (own.logs / "chain-1").write_text(
        f"2026-01-01T00:00:00 job 2 began on n1, progress 0\n2026-01-01T00:00:01 {line}\n"
    )
    assert read_states([own])[0].succeeded is succeeded


def test_the_end_of_a_job_that_runs_is_not_written(slurm: EmulatedSlurm) -> None:
    """As when the user has submitted a script again by hand that has succeeded before."""
    own = job(slurm)
    attempt = Attempt(own, "1", own.form, read_records(own.logs), JobStatus("RUNNING"))
    attempt.note_end()
    assert read_records(own.logs)[0].status is None


@pytest.fixture
def cut_off(slurm: EmulatedSlurm) -> Job:
    """A job in the queue of which a copy of the script was kept, but no record."""
    own = job(slurm)
    (own.logs / "1.json").unlink()
    return own


def test_a_connection_that_is_lost_submits_nothing_twice(
    slurm: EmulatedSlurm, cut_off: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(slurm, "_pwd", lambda *_: Answer(None, "", "Connection reset\n"))
        with pytest.raises(NoAnswer, match="Connection reset"):
            read_states([cut_off])
    assert read_states([cut_off])[0].is_queued


def test_a_job_of_an_unknown_folder_is_not_from_here(
    slurm: EmulatedSlurm, cut_off: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(slurm.folder)
    (new,) = own_jobs("slurm", slurm)
    monkeypatch.setattr(states, "own_jobs", lambda *_: [new._replace(folder="")])
    assert not read_states([cut_off])[0].is_queued


# ---- what the schedulers answer ----


@pytest.mark.parametrize(
    ("scheduler", "answer", "text"),
    [
        ("slurm", Answer(None, "", "Connection reset\n"), "Connection reset"),
        ("slurm", Answer(1, "", "Slurm accounting storage is disabled\n"), ""),
    ],
)
def test_an_accounting_that_does_not_answer(
    slurm: EmulatedSlurm,
    scheduler: str,
    answer: Answer,
    text: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slurm, "run", lambda *_, **__: answer)
    if not text:
        assert ended_jobs(scheduler, ["7"], slurm) == {}
        return
    with pytest.raises(NoAnswer, match=text):
        ended_jobs(scheduler, ["7"], slurm)


def test_a_machine_without_an_accounting(folder: Path) -> None:
    assert ended_jobs("slurm", ["7"]) == {}


def test_the_lines_of_squeue_and_sacct() -> None:
    rows = [
        "7 PENDING 0:00 Resources",
        "8 FAILED 1:00 None",
        "9_1 RUNNING 0:01 None",
        "9_2 PENDING 0:00 x",
    ]
    lines = [f"{row} n /x 2026-01-01T00:00:00".replace(" ", "\x1f") for row in rows]
    found = slurm_queue.parse_own_jobs("\n".join(["Welcome", *lines]))
    assert by_number(found) == {
        "7": JobStatus("PENDING", "Resources"),
        "8": JobStatus("FAILED", elapsed="1:00", exit_status=1),
        "9": JobStatus(
            "1 RUNNING, 1 PENDING",
            elapsed="0:01",
            array_jobs=(ArrayJob("9_1", None), ArrayJob("9_2", None)),
        ),
    }
    ended = by_number(slurm_queue.parse_ended("7|CANCELLED by 0\n8_1|COMPLETED\n8_2|COMPLETED\n"))
    assert {job: each.exit_status for job, each in ended.items()} == {"7": 1, "8": 0}


QSTAT = """\
Job Id: 7.login
    job_state = R
    resources_used.walltime = 00:00:11
    Output_Path = login:/x/a.o7

Job Id: 8[].login
    job_state = F
    Exit_status = 2
"""


def test_the_answer_of_qstat_about_many_jobs() -> None:
    found = by_number(pbs_queue.parse_jobs(QSTAT))
    assert {job: (each.state, each.exit_status) for job, each in found.items()} == {
        "7": ("RUNNING", None),
        "8": ("FINISHED", 2),
    }


@pytest.mark.parametrize(
    ("jobs", "status", "errors"),
    [
        ("echo 7.login; echo 9.login", 153, ""),
        ("echo 7.login; echo 9.login", 35, ""),
        ("", 1, ""),
        ("echo 7.login", 1, "qstat: cannot connect to server"),
        ("echo qselect: no server >&2; exit 1", 0, "qselect: no server"),
    ],
)
def test_a_query_that_fails_for_more_than_jobs_that_are_gone(
    folder: Path, jobs: str, status: int, errors: str
) -> None:
    qstat = f"cat <<'END'\n{QSTAT}END\necho qstat: cannot connect to server >&2; exit {status}"
    for name, text in (("qselect", jobs), ("qstat", qstat)):
        (folder / "bin" / name).write_text(f"#!/bin/bash\n{text}\n")
        (folder / "bin" / name).chmod(0o755)
    if not errors:
        assert [each.job for each in own_jobs("pbs")] == ["7.login", "8[].login"] * bool(jobs)
    else:
        with pytest.raises(NoAnswer, match=errors):
            own_jobs("pbs")


# ---- following ----


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[EmulatedSlurm, list[State]]:
    """500 jobs in the queue, one of which runs or ends in each pause."""
    slurm = EmulatedSlurm(tmp_path)
    states = []
    for number in range(500):
        script = f"#SBATCH --job-name=j{number}\n".encode()
        slurm.run(["sbatch"], script)
        new = slurm.jobs[str(number + 1)]
        path = tmp_path / "j.sh"
        own = Job(path, (new.name,), "slurm", form_of(script), slurm.logs, machine=slurm)
        states.append(State(own, [Attempt(own, new.id, own.form, of_queue=JobStatus("SUBMITTED"))]))

    def pause(_: float) -> None:
        for each in list(slurm.jobs.values())[:]:
            if each.state == "RUNNING":
                slurm.end(each, "FAILED" if each.id == "77" else "COMPLETED")
        for each in slurm.startable[:100]:
            slurm.start(each)

    monkeypatch.setattr(follow_jobs, "sleep", pause)
    return slurm, states


def test_a_poll_is_one_query_for_500_jobs(
    many: tuple[EmulatedSlurm, list[State]], capsys: pytest.CaptureFixture[str]
) -> None:
    slurm, states = many
    slurm.calls.clear()
    follower = Follower(states)
    follower.follow()
    assert [words[0] for words in slurm.calls] == ["bash"] * 7
    assert follower.summary == "500 jobs: 499 succeeded, 1 failed"
    out, err = lines(capsys)
    assert out == []
    assert "jobgen: j76: job 77: FAILED (exit status 1)" in err
    assert "jobgen: j0: job 1: RUNNING, 0:01" in err
    assert len(err) == 1500  # each waits, runs and ends


def test_a_job_that_vanishes_has_failed(
    tmp_path: Path, slurm: EmulatedSlurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow_jobs, "sleep", lambda _: None)
    (state,) = read_states([job(slurm)])
    slurm.jobs["1"].is_forgotten = True
    follower = Follower([state])
    follower.follow()
    assert follower.failed == ["a: job 1: ended without a word"]


def test_a_query_that_fails_is_reported_once(
    slurm: EmulatedSlurm, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (state,) = read_states([job(slurm)])
    answers = [Answer(1, "", "squeue: error: no controller\n")] * 3
    ask = slurm.run

    def run(words: Sequence[str], seconds: float | None = None) -> Answer:
        return answers.pop() if answers else ask(words)

    monkeypatch.setattr(slurm, "run", run)

    def pause(_: float) -> None:
        if not answers:
            slurm.end(slurm.jobs["1"], "COMPLETED")

    monkeypatch.setattr(follow_jobs, "sleep", pause)
    Follower([state]).follow()
    error = "emulated: the query failed, trying again: squeue: error: no controller"
    assert lines(capsys)[1] == [
        f"jobgen: {error}",
        "jobgen: a: job 1: PENDING",
        "jobgen: a: job 1: COMPLETED (exit status 0)",
    ]


def test_the_table_fits_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((40, 8)))
    table = Table()
    table.is_terminal = True
    waits, runs = JobStatus("PENDING", "Priority"), JobStatus("RUNNING", elapsed="0:01")

    def state(name: str, status: JobStatus) -> State:
        own = Job(Path("x"), (name,), "slurm", Form("", ""), Path("x"))
        return State(own, [Attempt(own, name[1:], own.form, of_queue=status)])

    rows = [
        state(name, status)
        for name, status in [*((f"j{n}", waits) for n in range(20)), ("l20", runs)]
    ]
    monkeypatch.setattr(sys.stderr, "fileno", lambda: 2, raising=False)
    table.show(rows, "21 jobs: 1 running, 20 waiting")
    shown = capsys.readouterr().err.replace("\x1b[K", "").splitlines()
    assert [line[:12].rstrip() for line in shown] == [
        "NAME  JOB  S",
        "l20   20   R",
        "j0    0    P",
        "j1    1    P",
        "… and 18 mor",
        "21 jobs: 1 r",
    ]
    table.note("j0: job 0: COMPLETED")
    assert capsys.readouterr().err == "\x1b[6A\r\x1b[Jjobgen: j0: job 0: COMPLETED\n"


def test_ctrl_c_says_how_to_go_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(follow_jobs, "sleep", interrupt)
    assert build_and_submit("jobgen.yaml", BuildOptions(), Wish(follows=True)) == 130
    assert lines(capsys)[1][-2:] == [
        "jobgen: the jobs go on; the same command follows them again. To cancel them:",
        "jobgen:   scancel 12 13 14",
    ]
