"""`jobgen.submit` on a real Slurm and PBS: a program of a user, on a login machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.jobs import PATH, Desk, PbsDesk, generate
from tests.cluster.site import OpenPbs, lab
from tests.cluster.test_submit import here  # noqa: F401

ROOT = Path(__file__).parents[2]
# Quick jobs: one task, no torch.
SLURM = """
import json, sys, time
from concurrent.futures import ThreadPoolExecutor
import jobgen
from jobgen.submission import watch

def submit(*words, **more):
    values = {"node.gpu": "none"}
    return jobgen.submit("dgx-a100", words, nodes=1, gpus_per_node=0, launcher="srun",
                         set_values=values, **more)

def until(job, *states):
    while job.state() not in states:
        time.sleep(0.3)
"""
PBS = """
import json, sys, time
import jobgen

def submit(*words, **more):
    return jobgen.submit("eap", words, nodes=1, **{**json.loads(sys.argv[1]), **more})

def until(job, *states):
    while job.state() not in states:
        time.sleep(0.3)
"""
ALL = """
waits = ("sh", "-c", "until [ -e go ]; do sleep 0.1; done")
jobs = {
    "ok": submit(*waits),
    "failed": submit("sh", "-c", "echo 'ValueError: no data' >&2; exit 7"),
    "plain": submit("sh", "-c", "exit 5", plain=True),
    "array": submit("sh", "-c", "exit $1", "x", "%a", array="0-1"),
    "hangs": submit("sleep", "600"),
}
until(jobs["ok"], "running")
until(jobs["hangs"], "running")
jobs["hangs"].cancel()
open("go", "w").close()
ends = {name: job.wait(120) for name, job in jobs.items()}
jobs["ok"].cancel()
print(json.dumps({
    name: [job.id, *ends[name], job.state(), job.script, str(job.why()).split("\\n")[0]]
    for name, job in jobs.items()
}))
"""


def found(done: subprocess.CompletedProcess[str]) -> dict[str, list[Any]]:
    assert (done.returncode, done.stderr) == (0, "")
    return dict(json.loads(done.stdout))


def check_ends(jobs: dict[str, list[Any]], plain: Sequence[Any]) -> None:
    ends = {name: each[1:4] for name, each in jobs.items()}
    assert ends.pop("hangs")[0] == "ended from outside"
    assert ends == {
        "ok": ["ok", 0, "ok"],
        "failed": ["failed 7", 7, "failed 7"],
        "plain": list(plain),
        "array": ["1 ok, 1 failed 1", 1, "1 ok, 1 failed 1"],
    }
    assert "no data" in jobs["failed"][-1]
    assert jobs["ok"][-1].startswith("no failure found")


def python(desk: Desk, text: str) -> subprocess.CompletedProcess[str]:
    return desk.cluster.run([sys.executable, "-c", text], cwd=desk.folder, env={"PATH": PATH})


def test_jobs_of_slurm(here: Desk) -> None:  # noqa: F811
    jobs = found(python(here, SLURM + ALL))
    check_ends(jobs, ("failed 5", 5, "failed 5"))
    job, script = jobs["hangs"][0], jobs["hangs"][4]
    words = ("--profile", "dgx-a100", "-N", "1", "-G", "0", "--set", "node.gpu=none")
    own = generate("sbatch", *words, "--launcher", "srun", "--", "sleep", "600", cwd=here.folder)
    assert script == own
    shown = here.cluster.run(["scontrol", "write", "batch_script", job, "-"]).stdout
    assert shown.rstrip("\0\n") == script.rstrip("\n")
    table = here.cluster.run(
        [sys.executable, "-m", "jobgen", "runs", "--json"], cwd=here.folder, env={"PATH": PATH}
    ).stdout
    states = {each["job"]: each["state"] for each in json.loads(table)}
    assert [states[jobs[name][0]] for name in ("ok", "failed", "plain", "hangs")] == [
        jobs[name][3] for name in ("ok", "failed", "plain", "hangs")
    ]


MANY = """
queries = []
ask = watch.own_jobs
watch.own_jobs = lambda scheduler: queries.append(0) or ask(scheduler)
with ThreadPoolExecutor(20) as threads:
    jobs = list(threads.map(lambda number: submit("sh", "-c", f"exit {number % 2}"), range(20)))
    count = len(queries)
    assert set(threads.map(lambda job: job.state(), jobs)) <= {"queued", "begins", "running", "ok"}
    queries_of_states = len(queries) - count
    begin = time.monotonic()
    ends = list(threads.map(lambda job: job.wait(180), jobs))
    polls, seconds = len(queries) - count - queries_of_states, time.monotonic() - begin
print(json.dumps([queries_of_states, polls, seconds, [end.exit_status for end in ends]]))
"""


@pytest.mark.thorough
def test_twenty_threads_share_their_queries(here: Desk) -> None:  # noqa: F811
    done = python(here, SLURM + MANY)
    assert (done.returncode, done.stderr) == (0, "")
    queries_of_states, polls, seconds, ends = json.loads(done.stdout)
    assert ends == [0, 1] * 10
    assert queries_of_states <= 2
    assert polls <= seconds + 2  # one a second, and not twenty


def test_what_sbatch_refuses_is_an_error(here: Desk) -> None:  # noqa: F811
    text = """
try:
    submit("true", partition="nope")
except jobgen.JobgenError as error:
    print(error.problems[0].mark, "|", error.problems[0].text)
"""
    done = python(here, SLURM + text)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("submit | sbatch did not take it: sbatch: error: ")
    assert "nvalid partition" in done.stdout
    assert not (here.folder / "jobgen-logs").exists()


def test_a_job_is_cancelled_while_it_waits(here: Desk) -> None:  # noqa: F811
    text = """
job = submit("true", directives="--hold")
until(job, "queued")
job.cancel()
print(json.dumps({"job": [*job.wait(60)]}))
"""
    assert found(python(here, SLURM + text)) == {"job": ["ended from outside", 1]}
    words = [sys.executable, "-m", "jobgen", "runs"]
    shown = here.cluster.run(words, cwd=here.folder, env={"PATH": PATH}).stdout
    assert "ended from outside" in shown


def run_pbs(real: PbsDesk, text: str) -> subprocess.CompletedProcess[str]:
    """A program of the user, on the login machine of PBS."""
    os.chown(real.folder, 20001, 20001)
    words = lab(ranks=1)
    pairs = list(zip(words[::2], words[1::2], strict=True))
    options: dict[str, Any] = {"launcher": "node", "environment": {"OMP_NUM_THREADS": 1}}
    options["set_values"] = [each for flag, each in pairs if flag == "--set"]
    become = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-c", PBS + text, json.dumps(options)]
    assert isinstance(real.site, OpenPbs)
    return real.site.cluster.run(real.site.command(*become), cwd=real.folder, timeout=300)


def test_jobs_of_pbs(real: PbsDesk) -> None:
    check_ends(found(run_pbs(real, ALL)), ("failed 5", 5, "failed 5"))


def test_a_pbs_without_a_history(real: PbsDesk) -> None:
    """It forgets a job at its end, but a job's record has its status; a plain script has none."""
    assert isinstance(real.site, OpenPbs)
    text = """
jobs = [submit("sh", "-c", "exit 7"), submit("sh", "-c", "exit 5", plain=True)]
print(json.dumps([job.wait(120) for job in jobs]))
"""
    qmgr = [str(real.site.folder / "bin/qmgr"), "-c", "set server job_history_enable="]
    real.site.cluster.run([*qmgr[:2], f"{qmgr[2]}false"])
    try:
        done = run_pbs(real, text)
    finally:
        real.site.cluster.run([*qmgr[:2], f"{qmgr[2]}true"])
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == [["failed 7", 7], ["ended without a word", None]]


def test_a_job_of_pbs_is_found_again(real: PbsDesk) -> None:
    """Its program was killed when qsub had taken it: nothing but its name is known."""
    text = """
import pathlib

def job():
    return submit("sleep", "600", once="t-0")

first = job()
logs = pathlib.Path("jobgen-logs")
note = logs / "t-0.once"
note.write_text(note.read_text().splitlines()[0] + "\\n")
for record in logs.glob("*.json"):
    record.unlink()
queued = job()
until(queued, "running")
note.write_text(note.read_text().splitlines()[0] + "\\n")
running = job()
running.cancel()
print(json.dumps([first.id, queued.id, running.id, running.wait(120).state, job().wait(120).state]))
"""
    done = run_pbs(real, text)
    assert (done.returncode, done.stderr) == (0, "")
    ids, states = json.loads(done.stdout)[:3], json.loads(done.stdout)[3:]
    assert ids == [ids[0]] * 3
    assert states == ["ended from outside"] * 2
