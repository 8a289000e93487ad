"""`jobgen.submit` and the job that it returns, on an emulated Slurm, and on this machine."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import jobgen
from jobgen.api import job as api_job
from jobgen.api import submission
from jobgen.api.job import MOST_MISSES
from jobgen.runs.records import read_records
from jobgen.submission import local_process, watch
from jobgen.submission.follow import MOST_FAILURES
from jobgen.submission.queues.own_jobs import NoAnswer
from tests.helpers import jobgen as program

pytestmark = pytest.mark.slow

# A job is a file in `jobs`, with Slurm's word for its state and its exit code.
COMMANDS = {
    "sbatch": """
        [ ! -e refuses ] || { echo "sbatch: error: no such partition" >&2; exit 1; }
        [ ! -e warns ] || echo "sbatch: a warning" >&2
        number=$(ls jobs | wc -l); id=$((number + 12))
        cat > scripts/$id; echo "PENDING 0" > jobs/$id; echo $id""",
    "squeue": """
        echo >> queries; sleep 0.1; [ ! -e silent ] || exit 1
        form='%s\\x1f%s\\x1f0:01\\x1fNone\\x1fx\\x1f/\\x1fx\\n'
        for job in jobs/*; do read -r state _ < $job
            [ "$state" = GONE ] || printf "$form" ${job#*/} $state
        done""",
    "scontrol": """
        read -r state code < jobs/$3; [ "$state" != GONE ] || exit 1
        echo "JobId=$3 JobName=x"; echo "   JobState=$state Reason=None Dependency=(null)"
        echo "   Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=$code:0"
        echo "   RunTime=00:00:01 TimeLimit=1"; echo "   StdOut=/none" """,
    "sacct": "exit 1",
    "scancel": """
        read -r state _ < jobs/$1; [ "$state" != COMPLETED ] || { echo "scancel: no" >&2; exit 1; }
        echo "CANCELLED 0" > jobs/$1""",
}


class Slurm:
    """The commands, and what happens to jobs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for each in ("bin", "jobs", "scripts"):
            (folder / each).mkdir()
        for name, text in COMMANDS.items():
            file = folder / "bin" / name
            file.write_text(f"#!/bin/bash\ncd {folder}\n{text}\n")
            file.chmod(0o755)

    def set(self, job: str, state: str, code: int = 0) -> None:
        (self.folder / "jobs" / job).write_text(f"{state} {code}\n")

    def record(self, job: str, **values: object) -> None:
        """What a job itself writes."""
        digest = hashlib.sha256((self.folder / "scripts" / job).read_bytes()).hexdigest()
        file = self.folder / "jobgen-logs" / f"{job}.json"
        file.write_text(json.dumps({"job": job, "script": digest, "begin": 1.0, **values}))

    @property
    def queries(self) -> int:
        file = self.folder / "queries"
        return len(file.read_text()) if file.exists() else 0

    def submit(self, *words: object, **options: object) -> jobgen.SubmittedJob:
        text = [str(word) for word in words or ("true",)]
        return jobgen.submit("dgx-a100", text, folder=self.folder, **options)  # type: ignore[arg-type]


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Slurm:
    made = Slurm(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setattr(api_job, "MOST_AGE", 0.0)
    monkeypatch.setattr(api_job, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(api_job, "GROWTH", 1.0)
    return made


def test_it_submits_the_script_of_the_command_line_with_its_record(
    slurm: Slurm, capfd: pytest.CaptureFixture[str]
) -> None:
    (slurm.folder / "warns").touch()
    (slurm.folder / "train.py").touch()
    job = slurm.submit("train.py", "--lr", 0.1, nodes=3)
    words = ("sbatch", "--profile", "dgx-a100", "-N", "3", "--", "train.py", "--lr", "0.1")
    script = program(*words, cwd=slurm.folder).stdout
    assert (slurm.folder / "scripts" / job.id).read_bytes() == script == job.script.encode()
    assert job.logs == slurm.folder / "jobgen-logs"
    (record,) = read_records(job.logs)
    assert (record.job, record.script_file.read_bytes()) == (job.id, script)
    assert job.messages == "sbatch: a warning"
    assert capfd.readouterr() == ("", "")
    assert repr(job) == f"<jobgen.SubmittedJob {job.id}>"


def test_its_states_are_the_words_of_jobgen_runs(slurm: Slurm) -> None:
    job = slurm.submit()
    assert job.state() == "queued"
    slurm.set(job.id, "RUNNING")
    assert job.state() == "begins"
    slurm.record(job.id)
    assert job.state() == "running"
    slurm.set(job.id, "COMPLETED")
    slurm.record(job.id, end=2.0, status=0)
    before = slurm.queries
    assert job.wait() == ("ok", 0)
    assert job.state() == "ok"
    assert slurm.queries == before  # its record is enough
    words = ("env", "runs", "show", job.id)[1:]
    assert b"ok" in program(*words, cwd=slurm.folder).stdout


def test_the_record_of_a_failure_counts_only_when_the_queue_has_it_no_more(slurm: Slurm) -> None:
    """--requeue may start it again."""
    job = slurm.submit()
    slurm.record(job.id, end=2.0, status=7)
    slurm.set(job.id, "PENDING")
    with pytest.raises(TimeoutError, match=f"job {job.id} has not ended in 0.05 s: queued"):
        job.wait(0.05)
    slurm.set(job.id, "FAILED", 1)
    assert job.wait(5) == jobgen.End("failed 7", 7)


def test_the_scheduler_knows_the_end_of_a_job_without_a_record(slurm: Slurm) -> None:
    job = slurm.submit(plain=True)
    assert job.state() == "queued"
    slurm.set(job.id, "RUNNING")
    assert job.state() == "running"
    slurm.set(job.id, "FAILED", 5)
    assert job.wait(5) == ("failed 5", 5)
    slurm.set(job.id, "GONE")  # but this is kept
    assert job.state() == "failed 5"
    assert read_records(job.logs)[0].status == 5


def test_a_record_that_is_removed_is_not_missed(slurm: Slurm) -> None:
    job = slurm.submit()
    (job.logs / f"{job.id}.json").unlink()
    assert job.state() == "queued"
    slurm.set(job.id, "FAILED", 5)
    assert job.wait(5) == ("failed 5", 5)


def test_a_job_of_which_nobody_knows_the_end_ends(slurm: Slurm) -> None:
    job = slurm.submit()
    slurm.set(job.id, "GONE")
    assert job.wait(5) == ("ended without a word", None)
    assert slurm.queries == MOST_MISSES


def test_an_array_is_one_job(slurm: Slurm) -> None:
    job = slurm.submit("train.py", "%a", array="0-1")
    folder = slurm.folder / "jobs"
    (folder / job.id).rename(folder / f"{job.id}_0")
    (slurm.folder / "scripts" / f"{job.id}_0").write_text(job.script)
    (slurm.folder / "scripts" / f"{job.id}_1").write_text(job.script)
    slurm.set(f"{job.id}_0", "RUNNING")
    slurm.set(f"{job.id}_1", "PENDING")
    slurm.record(f"{job.id}_0")
    assert job.state() == "1 running"
    slurm.set(f"{job.id}_0", "COMPLETED")
    slurm.record(f"{job.id}_0", end=2.0, status=0)
    slurm.record(f"{job.id}_1")
    slurm.set(f"{job.id}_1", "RUNNING")
    assert job.state() == "1 ok, 1 running"
    assert job.statuses() == {"0": 0}
    slurm.set(f"{job.id}_1", "FAILED", 3)
    slurm.record(f"{job.id}_1", end=2.0, status=3)
    assert job.wait(5) == ("1 ok, 1 failed 3", 3)
    assert job.statuses() == {"0": 0, "1": 3}


def test_a_chain_is_one_job_which_ends_when_the_training_is_done(slurm: Slurm) -> None:
    job = slurm.submit(chain=3)
    events = job.logs / f"chain-{job.id}"
    events.write_text("2026-01-01T00:00:00 job 1 began on n1, progress 0\n")
    slurm.set(job.id, "RUNNING")
    with pytest.raises(TimeoutError):
        job.wait(0.05)
    with events.open("a") as file:
        file.write("2026-01-01T01:00:00 job 1 goes on: the walltime\n")
        file.write("2026-01-01T02:00:00 job 2 is done: status 0\n")
    slurm.set(job.id, "CANCELLED")
    assert job.wait(5) == ("done", 0)
    stopped = slurm.submit(chain=3)
    line = "2026-01-01T00:00:00 job 2 stopped without progress: status 1\n"
    (job.logs / f"chain-{stopped.id}").write_text(line)
    slurm.set(stopped.id, "CANCELLED")
    assert stopped.wait(5) == ("stopped without progress", 1)


def test_threads_that_submit_the_same_code_make_one_copy(slurm: Slurm) -> None:
    code = slurm.folder / "code"
    code.mkdir()
    (code / "train.py").write_text("print(1)")
    lock = threading.Lock()  # the emulated sbatch counts files

    def submitted(number: int) -> str:
        script = jobgen.script("dgx-a100", ["train.py", number], code=code, folder=slurm.folder)
        with lock:
            job = slurm.submit("train.py", number, code=code)
        assert job.script == script
        return job.id

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(submitted, range(8)))) == 8
    copies = (slurm.folder / ".jobgen/store/code").iterdir()
    assert len([each for each in copies if each.is_dir()]) == 1


def test_jobs_that_are_asked_close_together_share_one_query(
    slurm: Slurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_job, "MOST_AGE", 60.0)
    jobs = [slurm.submit() for _ in range(30)]
    before = slurm.queries
    with ThreadPoolExecutor(30) as threads:
        assert set(threads.map(lambda job: job.state(), jobs)) == {"queued"}
    assert slurm.queries == before + 1
    new = slurm.submit()  # the last answer cannot know it
    assert new.state() == "queued"
    assert slurm.queries == before + 2


def test_many_threads_submit_and_wait(slurm: Slurm) -> None:
    with ThreadPoolExecutor(8) as threads:
        lock = threading.Lock()  # the emulated sbatch counts files

        def submitted(number: int) -> jobgen.SubmittedJob:
            with lock:
                return slurm.submit("train.py", number)

        jobs = list(threads.map(submitted, range(8)))
        ends = [threads.submit(job.wait, 30) for job in jobs]
        for number, job in enumerate(jobs):
            slurm.set(job.id, "COMPLETED" if number % 2 else "FAILED", 1)
            slurm.record(job.id, end=2.0, status=(number + 1) % 2)
        assert [each.result().exit_status for each in ends] == [1, 0] * 4


def test_cancel(slurm: Slurm) -> None:
    job = slurm.submit()
    job.cancel()  # while it is queued
    assert job.wait(5) == ("ended from outside", 1)
    assert read_records(job.logs)[0].outside
    job = slurm.submit()
    slurm.set(job.id, "COMPLETED")
    job.cancel()  # it has ended
    assert job.state() == "ok"
    job = slurm.submit()
    (slurm.folder / "bin/scancel").write_text(
        "#!/bin/bash\necho 'scancel: not allowed' >&2; exit 1"
    )
    with pytest.raises(jobgen.JobgenError, match=r"cancel: scancel did not do it: .* not allowed"):
        job.cancel()


def test_a_scheduler_that_does_not_answer(slurm: Slurm, monkeypatch: pytest.MonkeyPatch) -> None:
    job = slurm.submit()
    (slurm.folder / "silent").touch()
    assert job.state() == "submitted"

    def silent(_: str) -> None:
        raise NoAnswer("no controller")

    monkeypatch.setattr(watch, "own_jobs", silent)
    monkeypatch.setattr(api_job, "sleep", lambda _: None)
    with pytest.raises(jobgen.JobgenError) as caught:
        job.wait()
    assert str(caught.value) == (
        "wait: the scheduler does not answer: no controller; call it again [queue]"
    )
    assert MOST_FAILURES > 10


def test_mistakes_are_errors_with_problems(slurm: Slurm, monkeypatch: pytest.MonkeyPatch) -> None:
    (slurm.folder / "refuses").touch()
    expected: dict[str, dict[str, Any]] = {
        "submit: sbatch did not take it: sbatch: error: no such partition [submit]": {},
        "command: 'byhand' submits nothing; one of: local, qsub, sbatch [usage]": {"hosts": "a,b"},
        "nodes: 0 is out of range; a whole number from 1 to 1048576 [range]": {"nodes": 0},
        "directives: --clusters is in its script; set SLURM_CLUSTERS=NAME, for all commands of"
        " Slurm [conflict]": {"directives": "--clusters=b"},
        "request.log_folder: $LOST is not set here": {"log_folder": "$LOST"},
    }
    for text, options in expected.items():
        with pytest.raises(jobgen.JobgenError) as caught:
            slurm.submit(**options)
        assert str(caught.value).startswith(text), str(caught.value)
        assert caught.value.problems
    assert not list((slurm.folder / "scripts").iterdir())
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    (slurm.folder / "bin/qsub").touch()
    with pytest.raises(jobgen.JobgenError, match="submit: `qsub` does not run here: there is none"):
        jobgen.submit("eap", ["true"], folder=slurm.folder)


def test_a_job_whose_record_cannot_be_written_is_returned(slurm: Slurm) -> None:
    """After an error, a program would submit it again."""
    (slurm.folder / "jobgen-logs").touch()
    job = slurm.submit()
    assert job.id == "12"
    assert job.messages.startswith("warning: no record yet: ")
    assert job.messages.endswith(": Not a directory")
    slurm.set(job.id, "RUNNING")
    assert job.state() == "begins"


# ---- this machine ----


def here(folder: Path, line: str) -> jobgen.SubmittedJob:
    return jobgen.submit("local", ["bash", "-c", line], folder=folder, nodes=1, launcher="node")


def test_a_local_job_runs_in_a_process_of_its_own(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    line = "until [ -e go ]; do sleep 0.05; done; echo it ran"
    job = here(tmp_path, line)
    limit = time.monotonic() + 60
    while job.state() == "begins" and time.monotonic() < limit:
        time.sleep(0.05)
    assert job.state() == "running"
    assert os.getsid(int(job.id)) != os.getsid(0)
    (tmp_path / "go").touch()
    assert job.wait(60) == ("ok", 0)
    assert "it ran\n" in (tmp_path / f"bash-{job.id}.out").read_text()
    words = ("local", "--profile", "local", "-N", "1", "--launcher", "node", "--", "bash", "-c")
    assert job.script.encode() == program(*words, line, cwd=tmp_path).stdout
    assert read_records(job.logs)[0].script_file.read_text() == job.script
    assert capfd.readouterr() == ("", "")


def why(folder: Path, job: jobgen.SubmittedJob) -> bytes:
    """What the command says."""
    files = (f"{folder}/jobgen-logs/{job.id}", f"{folder}/bash-{job.id}.out")
    return program("why", *files, cwd=folder).stdout


def test_a_local_job_that_fails_has_a_verdict(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("raise ValueError('no data')")
    job = here(tmp_path, "python3 train.py")
    assert job.wait(60) == ("failed 1", 1)
    verdict = job.why()
    assert "ValueError" in verdict.evidence[0].text
    assert str(verdict).encode() == why(tmp_path, job).rstrip(b"\n")
    missing = jobgen.submit("local", ["nothing.py"], folder=tmp_path, nodes=1)
    text = "warning: there is no file 'nothing.py' here; the job needs it in its folder"
    assert missing.messages == text
    assert missing.wait(60) == ("failed 1", 1)
    assert (missing.why().code, missing.why().cure) == ("node-not-ready", "go to its folder")


def test_a_local_job_is_cancelled_with_all_that_it_has_started(tmp_path: Path) -> None:
    job = here(tmp_path, "echo $$ > pid; touch up; sleep 600")
    limit = time.monotonic() + 60
    while not (tmp_path / "up").exists() and time.monotonic() < limit:
        time.sleep(0.05)
    job.cancel()
    assert job.wait(60) == ("ended from outside", 143)
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()
    job.cancel()


def test_a_record_of_an_older_process_of_the_same_number_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Reused(local_process.LocalProcess):
        """Its number is that of a process which has left a record."""

        def __init__(self, *words: Any) -> None:
            super().__init__(*words)
            old = {"job": self.id, "script": "", "begin": 1.0, "end": 2.0, "status": 3}
            (tmp_path / f"jobgen-logs/{self.id}.json").write_text(json.dumps(old))

    monkeypatch.setattr(submission, "LocalProcess", Reused)
    job = here(tmp_path, "sleep 2")
    assert job.state() == "begins"
    assert job.wait(60) == ("ok", 0)


def test_bash_that_does_not_start_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError(12, "no memory")

    monkeypatch.setattr(subprocess, "Popen", broken)
    with pytest.raises(jobgen.JobgenError, match="submit: bash does not run here: no memory"):
        here(tmp_path, "true")
