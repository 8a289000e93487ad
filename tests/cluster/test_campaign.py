"""`jobgen build --submit`: the jobs of a manifest, on a real Slurm."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.harness import Cluster, until
from tests.cluster.jobs import PATH, Desk, PbsDesk
from tests.cluster.site import USER, OpenPbs
from tests.cluster.test_submit import BEGIN, ROOT

# Quick jobs: one task, no torch. Each notes in `log` when it begins and ends.
MANIFEST = """
defaults:
  profile: dgx-a100
  nodes: 1
  gpus_per_node: 0
  launcher: srun
  shared: true
  set: {node.gpu: none, request.memory: 1G}
  file: "jobs/{name}-{n}.sh"
jobs:
  sweep:
    matrix: {n: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}
    program: [python3, -u, run.py, "{n}"]
"""
RUN = """
import os, pathlib, sys, time
def note(text):
    with open("log", "a") as log:
        log.write(text + sys.argv[1] + "\\n")
note("+")
time.sleep(1)
note("-")
if sys.argv[1] == "7" and not pathlib.Path("mended").exists():
    raise ValueError("no seven")
while pathlib.Path("hold").exists():
    time.sleep(0.1)
"""


@pytest.fixture
def here(cluster: Cluster, tmp_path: Path) -> Desk:
    """A folder with the manifest and its program."""
    (tmp_path / "jobgen.yaml").write_text(MANIFEST)
    (tmp_path / "run.py").write_text(RUN)
    return Desk(cluster, tmp_path)


def build(desk: Desk, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "jobgen", "build", *words]
    return desk.cluster.run(command, cwd=desk.folder, env={"PATH": PATH}, timeout=300)


def most_at_once(folder: Path) -> int:
    """The most programs that ran at once, from what they have noted."""
    running, most = 0, 0
    for line in (folder / "log").read_text().splitlines():
        running += 1 if line[0] == "+" else -1
        most = max(most, running)
    return most


def test_a_sweep_of_which_one_job_fails(here: Desk) -> None:
    done = build(here, "--wait", "--at-once", "3")
    assert done.returncode == 1, done.stderr
    assert len(re.findall(r"^jobs/sweep-\d+\.sh: job \d+$", done.stdout, re.MULTILINE)) == 12
    assert most_at_once(here.folder) == 3
    (failed,) = set(re.findall(r"sweep-7: job \d+: FAILED .*", done.stderr))
    assert "no seven" in failed
    lines = done.stderr.splitlines()
    assert lines[-2:] == ["jobgen: 12 jobs: 11 succeeded, 1 failed", f"jobgen:   {failed}"]
    assert re.search(r"^jobgen: sweep-1: job \d+: RUNNING", done.stderr, re.MULTILINE)
    (here.folder / "mended").touch()
    again = build(here, "--wait")
    assert again.returncode == 0, again.stderr
    assert re.fullmatch(r"jobs/sweep-7.sh: job \d+ \(job \d+ ended with status 1\)\n", again.stdout)
    assert again.stderr.endswith("jobgen: 12 jobs: 12 succeeded\n")
    assert build(here, "--submit").stdout == ""


def test_results_beside_the_program(here: Desk) -> None:
    """Each job changes the folder of its own code; those that succeeded are not run again."""
    manifest = MANIFEST.replace("defaults:", "defaults:\n  code: .").replace("python3, -u, ", "")
    (here.folder / "jobgen.yaml").write_text(manifest)
    with (here.folder / "run.py").open("a") as program:
        program.write('pathlib.Path(f"result-{sys.argv[1]}.json").touch()\n')
    words = ("--wait", "--only", "sweep-[12]")
    done = build(here, *words)
    assert done.returncode == 0, done.stderr
    again = build(here, *words)
    assert again.returncode == 0, again.stderr
    assert ": job " not in again.stdout
    assert again.stderr.splitlines()[2:4] == [
        "jobgen: 2 jobs: 2 succeeded before",
        "jobgen: 2 of them were submitted before a change of code",
    ]
    assert "  new: log, result-1.json, result-2.json" in again.stderr
    changed = build(here, *words, "--changed")
    assert changed.returncode == 0, changed.stderr
    assert len(re.findall(r"job \d+ \(job \d+ was before a change of code\)", changed.stdout)) == 2


def test_ctrl_c_leaves_the_jobs(here: Desk) -> None:
    (here.folder / "hold").touch()
    words = [*BEGIN, sys.executable, "-m", "jobgen", "build", "--wait", "--only", "sweep-[12]"]
    process = subprocess.Popen(
        here.cluster.command(words), env=here.cluster.environment({"PATH": PATH}),
        cwd=here.folder, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    until(lambda: (here.folder / "log").exists())
    pid = (here.folder / "pid").read_text().strip()
    here.cluster.run(["kill", "-INT", "--", f"-{pid}"])
    out, messages = process.communicate(timeout=60)
    ids = re.findall(r": job (\d+)$", out, re.MULTILINE)
    assert (process.returncode, len(ids)) == (130, 2), messages
    cancel = f"jobgen:   scancel {' '.join(ids)}"
    assert messages.splitlines()[-1] == cancel
    assert "the same command follows them again" in messages
    assert build(here, "--submit", "--only", "sweep-[12]").stdout == ""
    (here.folder / "hold").unlink()
    done = build(here, "--wait", "--only", "sweep-[12]")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_kills_at_any_time_submit_no_job_twice(here: Desk) -> None:
    choose, rounds = random.Random(32), 0
    words = [sys.executable, "-m", "jobgen", "build", "--submit", "--at-once", "4"]
    command = ["timeout", "-s", "KILL", "{}", *words]
    while rounds < 15:
        rounds += 1
        command[3] = f"{choose.uniform(0.2, 3):.2f}"
        here.cluster.run(command, cwd=here.folder, env={"PATH": PATH})
    done = build(here, "--wait")
    shown = here.cluster.run(["squeue", "--states=all", "--noheader", "--format=%j|%T|%Z"])
    own = [line for line in shown.stdout.splitlines() if line.endswith(f"|{here.folder}")]
    states = sorted(line.rpartition("|")[0] for line in own)
    ended = {"sweep-7|FAILED"} | {f"sweep-{n}|COMPLETED" for n in range(1, 13) if n != 7}
    assert set(states) == ended, done.stderr
    again = [state for state in states if state != "sweep-7|FAILED"]
    assert len(again) == 11  # only the one that fails may have run more than once


# ---- on a real PBS ----

PBS_MANIFEST = f"""
defaults:
  profile: eap
  nodes: 1
  launcher: node
  set:
    software.modules: "[]"
    software.venv: {sys.prefix}
    node.arch: "null"
    node.gpu: none
    launch.processes_per_node: 1
  file: "jobs/{{name}}-{{n}}.sh"
jobs:
  sweep:
    matrix: {{n: [1, 2, 3, 6, 7, 8]}}
    program: [python3, -u, run.py, "{{n}}"]
"""


def pbs_build(real: PbsDesk, *words: str) -> subprocess.CompletedProcess[str]:
    assert isinstance(real.site, OpenPbs)
    os.chown(real.folder, USER, USER)
    python = ["env", f"PYTHONPATH={ROOT}", sys.executable]
    command = real.site.command(*python, "-m", "jobgen", "build", *words)
    return real.site.cluster.run(command, cwd=real.folder, timeout=300)


def test_a_sweep_on_pbs(real: PbsDesk) -> None:
    (real.folder / "jobgen.yaml").write_text(PBS_MANIFEST)
    (real.folder / "run.py").write_text(RUN)
    done = pbs_build(real, "--wait", "--at-once", "2")
    real.jobs.extend(ids := re.findall(r": job (\S+)$", done.stdout, re.MULTILINE))
    assert (done.returncode, len(ids)) == (1, 6), done.stderr
    assert most_at_once(real.folder) == 2
    (failed,) = set(re.findall(r"sweep-7: job \S+: [A-Z]+ \(exit.*", done.stderr))
    assert "no seven" in failed
    assert done.stderr.splitlines()[-2] == "jobgen: 6 jobs: 5 succeeded, 1 failed"
    (real.folder / "mended").touch()
    again = pbs_build(real, "--wait")
    assert again.returncode == 0, again.stderr
    (job,) = re.findall(r"^jobs/sweep-7.sh: job (\S+) ", again.stdout)
    real.jobs.append(job)
    assert again.stderr.endswith("jobgen: 6 jobs: 6 succeeded\n")
    shutil.rmtree(real.folder / ".jobgen")  # the keepers


OWN_JOBS = """
from jobgen.submission.queues.own_jobs import by_number, own_jobs
for each in own_jobs("pbs"):
    print(each.job, each.name, each.status.state, each.folder, each.submitted > 0, sep="|")
print(sorted(each.state for each in by_number(own_jobs("pbs")).values()))
"""


def test_the_jobs_in_the_queue_of_pbs(real: PbsDesk) -> None:
    array = '  many: {matrix: {n: [a]}, array: 0-1, program: [sleep, "%a"]}\n'
    (real.folder / "jobgen.yaml").write_text(
        PBS_MANIFEST.replace("1, 2, 3, 6, 7, 8", "1, 2") + array
    )
    (real.folder / "run.py").write_text(RUN)
    (real.folder / "hold").touch()
    assert isinstance(real.site, OpenPbs)
    done = pbs_build(real, "--submit", "--at-once", "1")
    real.jobs.extend(ids := re.findall(r": job (\S+)$", done.stdout, re.MULTILINE))
    assert len(ids) == 3, done.stderr
    until(lambda: (real.folder / "log").exists())
    shown = real.site.cluster.run(
        real.site.command("env", f"PYTHONPATH={ROOT}", sys.executable, "-c", OWN_JOBS)
    ).stdout.splitlines()
    first, second, many = ids
    place = f"{real.folder}|True"
    assert f"{first}|sweep-1|RUNNING|{place}" in shown
    assert f"{second}|sweep-2|HELD|{place}" in shown
    assert any(line.startswith(f"{many}|many-a|HELD|") for line in shown), shown
    assert shown[-1] == "['HELD', 'HELD', 'RUNNING']"
    again = pbs_build(real, "--submit")
    assert again.stderr.endswith("jobgen: 3 jobs: 3 in the queue already\n")
    (real.folder / "hold").unlink()
    done = pbs_build(real, "--wait")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    shutil.rmtree(real.folder / ".jobgen")  # the keepers
