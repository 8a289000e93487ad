"""`jobgen.submit(once=NAME)`: a program that was killed finds its jobs again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import jobgen
from jobgen.submission.queues.own_jobs import NoAnswer
from tests.test_api_submit import Slurm, here, slurm  # noqa: F401

pytestmark = pytest.mark.slow

# The emulated queue shows the name and the folder of each job.
SQUEUE = r"""#!/bin/bash
cd {folder}
for job in jobs/*; do read -r state _ < $job
    name=$(sed -n 's/^#SBATCH --job-name=//p' scripts/${{job#*/}})
    form='%s\x1f%s\x1f0:01\x1fNone\x1f%s\x1f%s\x1fx\n'
    [ "$state" = GONE ] || printf "$form" ${{job#*/}} $state "$name" "$(cat place)"
done
"""


@pytest.fixture
def queue(slurm: Slurm) -> Slurm:  # noqa: F811
    (slurm.folder / "bin/squeue").write_text(SQUEUE.format(folder=slurm.folder))
    (slurm.folder / "place").write_text(str(slurm.folder))
    return slurm


def submit(slurm: Slurm, name: str = "t-0", **options: object) -> str:  # noqa: F811
    return slurm.submit("train.py", "--lr", 0.1, once=name, **options).id


def forget(slurm: Slurm, job: str) -> None:  # noqa: F811
    """What is left if the program was killed when sbatch had taken the job."""
    logs = slurm.folder / "jobgen-logs"
    (logs / f"{job}.json").unlink()
    (logs / "t-0.once").write_text((logs / "t-0.once").read_text().splitlines()[0] + "\n")


def test_a_name_is_submitted_once(queue: Slurm) -> None:
    first = submit(queue)
    assert submit(queue) == submit(queue, time="2h") == first
    assert submit(queue, "t-1") != first
    assert not queue.queries
    queue.record(first, end=2.0, status=0)
    queue.set(first, "GONE")
    again = queue.submit("train.py", "--lr", 0.1, once="t-0")
    assert (again.id, again.state(), again.wait()) == (first, "ok", ("ok", 0))


def test_the_program_may_be_the_trainer_of_a_profile(queue: Slurm) -> None:
    def job() -> str:
        profile = {"extends": "dgx-a100", "trainer": "cifar10_vgg"}
        return jobgen.submit(profile, folder=queue.folder, once="t-0").id

    assert job() == job()


def test_the_script_is_the_one_that_was_submitted(queue: Slurm) -> None:
    submit(queue, time="1h")
    again = queue.submit("train.py", "--lr", 0.1, once="t-0", time="2h")
    assert " -t 1h " in again.script


def test_a_job_in_the_queue_is_found_without_a_record(queue: Slurm) -> None:
    job = submit(queue)
    forget(queue, job)
    assert submit(queue) == job
    assert (queue.folder / f"jobgen-logs/{job}.json").exists()


def test_a_job_that_has_begun_or_ended_is_found_by_its_own_record(queue: Slurm) -> None:
    job = submit(queue)
    forget(queue, job)
    queue.set(job, "GONE")
    queue.record(job, end=2.0, status=0)
    assert submit(queue) == job


@pytest.mark.parametrize("place", ["/elsewhere", None])
def test_what_is_not_found_is_submitted(queue: Slurm, place: str | None) -> None:
    job = submit(queue)
    forget(queue, job)
    if place:
        (queue.folder / "place").write_text(place)
    else:
        queue.set(job, "GONE")
    assert submit(queue) not in ("", job)


def test_what_sbatch_refused_is_submitted_later(queue: Slurm) -> None:
    (queue.folder / "refuses").touch()
    with pytest.raises(jobgen.JobgenError, match="no such partition"):
        submit(queue)
    (queue.folder / "refuses").unlink()
    assert submit(queue) == "12"


def test_a_submission_that_goes_on_after_its_program_was_killed(queue: Slurm) -> None:
    """The killed one's sbatch is still at work, and the queue does not show the job yet."""
    sbatch = queue.folder / "bin/sbatch"
    slow = sbatch.read_text().replace("number=", "touch at-work; sleep 1; number=")
    sbatch.write_text(slow)
    words = 'jobgen.submit("dgx-a100", ["train.py", "--lr", 0.1], once="t-0")'
    program = [sys.executable, "-c", f"import jobgen; {words}"]
    first = subprocess.Popen(program, cwd=queue.folder)
    while not (queue.folder / "at-work").exists():
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert not list((queue.folder / "jobs").iterdir())
    assert submit(queue) == "12"
    assert len(list((queue.folder / "jobs").iterdir())) == 1


def test_a_queue_that_does_not_answer_is_an_error(
    queue: Slurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget(queue, submit(queue))

    def silent(_: str) -> None:
        raise NoAnswer("no controller")

    monkeypatch.setattr("jobgen.api.once.own_jobs", silent)
    text = "once: it is not known whether t-0 is in the queue: no controller; call it again"
    with pytest.raises(jobgen.JobgenError, match=text):
        submit(queue)


def test_mistakes_are_errors(queue: Slurm) -> None:
    submit(queue)
    with pytest.raises(jobgen.JobgenError) as caught:
        queue.submit("train.py", "--lr", 0.2, once="t-0")
    assert str(caught.value).startswith(
        "once: t-0 is a job with another program here: train.py --lr 0.1; another name"
    )
    with pytest.raises(jobgen.JobgenError, match="name: `once` is the job's name; leave out one"):
        queue.submit("train.py", once="t-0", name="b")
    with pytest.raises(jobgen.JobgenError, match="name: 'a/b' is not a valid job name"):
        submit(queue, "a/b")
    with pytest.raises(jobgen.JobgenError, match="once: expected text or a path, got 7"):
        submit(queue, 7)  # type: ignore[arg-type]
    with pytest.raises(jobgen.JobgenError, match="once: its script writes no record"):
        submit(queue, "plain", plain=True)


def test_the_name_may_have_any_character(queue: Slurm) -> None:
    names = ("a%b", "a b", "ä:")
    jobs = [submit(queue, name) for name in names]
    assert [submit(queue, name) for name in names] == jobs
    assert len(set(jobs)) == 3


def test_a_local_job_of_another_program(tmp_path: Path) -> None:
    words = ["bash", "-c", "until [ -e go ]; do sleep 0.05; done; exit 3"]
    text = f'jobgen.submit("local", {words}, nodes=1, launcher="node", once="t-0")'
    program = [sys.executable, "-c", f"import jobgen; print({text}.id)"]
    first = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=True)
    options = {"nodes": 1, "launcher": "node", "once": "t-0"}
    job = jobgen.submit("local", words, folder=tmp_path, **options)  # type: ignore[arg-type]
    assert job.id == first.stdout.strip()
    with pytest.raises(TimeoutError):
        job.wait(0.2)
    (tmp_path / "go").touch()
    assert job.wait(60) == ("failed 3", 3)
    assert str(job.why())
    job.cancel()  # it has ended


def test_a_local_job_that_was_left_can_be_cancelled(tmp_path: Path) -> None:
    words = ["sleep", "600"]
    text = f'jobgen.submit("local", {words}, nodes=1, launcher="node", once="t-0")'
    program = [sys.executable, "-c", f"import jobgen; print({text}.id)"]
    first = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=True)
    options = {"nodes": 1, "launcher": "node", "once": "t-0"}
    job = jobgen.submit("local", words, folder=tmp_path, **options)  # type: ignore[arg-type]
    while job.state() != "running":
        time.sleep(0.05)
    job.cancel()
    assert job.wait(60).exit_status != 0
    assert not os.path.exists(f"/proc/{first.stdout.strip()}/exe")
