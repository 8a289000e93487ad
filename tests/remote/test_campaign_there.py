"""`jobgen build --submit` for jobs of two clusters, whose login nodes are reached by ssh."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.helpers import jobgen
from tests.remote.conftest import NAME, SBATCH
from tests.remote.ssh_host import SshHost
from tests.remote.test_cuts import HANG_UP, taken

pytestmark = pytest.mark.slow

MANIFEST = """\
defaults:
  {profile: dgx-a100, nodes: 1, stall: 600, code: ., host: login1, file: "jobs/{name}-{lr}.sh"}
jobs:
  bert: {matrix: {lr: [1, 2]}, program: [train.py, "{lr}"]}
  vit: {matrix: {lr: [1]}, host: "login2:else/where", program: [train.py, "{lr}"]}
"""
# Each job that was taken waits, until `state` says more.
SQUEUE = """
echo >> ~/asked
for job in $(ls ~/taken); do
  name=$(sed -n 's/^#SBATCH --job-name=//p' ~/taken/$job/script)
  printf '%s\\x1f' $job "$(cat ~/state-$job ~/state 2> /dev/null | head -1)" 0:00 None "$name"
  printf '%s\\x1f%s\\n' "$(cat ~/taken/$job/folder)" 2026-01-01T00:00:00
done
"""


@pytest.fixture
def here(host: SshHost, second: SshHost, folder: Path) -> Path:
    """A folder with a manifest of three jobs, on two clusters that number their jobs alike."""
    (folder / "jobgen.yaml").write_text(MANIFEST)
    for each in (host, second):
        each.add("squeue", SQUEUE)
        each.add("sacct", "exit 1")
        (each.home / "state").write_text("PENDING\n")
    return folder


def build(host: SshHost, folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    return jobgen("build", *words, cwd=folder, env=host.here)


def end(host: SshHost, folder: Path, job: str, status: int) -> None:
    """A job ends, and writes its record there."""
    (host.home / f"state-{job}").write_text(("FAILED" if status else "COMPLETED") + "\n")
    script = (host.home / "taken" / job / "script").read_bytes()
    digest = hashlib.sha256(script).hexdigest()
    logs = Path((host.home / "taken" / job / "folder").read_text()) / "jobgen-logs"
    logs.mkdir(exist_ok=True)
    record = {"job": job, "script": digest, "begin": 1, "end": 2, "status": status, "logs": job}
    (logs / f"{job}.json").write_text(json.dumps(record))


@pytest.mark.thorough
def test_two_clusters_in_one_manifest(host: SshHost, second: SshHost, here: Path) -> None:
    done = build(host, here, "--submit")
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().splitlines()[-3:] == [
        "jobs/bert-1.sh: job 12", "jobs/bert-2.sh: job 13", "jobs/vit-1.sh: job 12"
    ]  # fmt: skip
    assert (taken(host), taken(second)) == (["12", "13"], ["12"])
    folders = [(each.home / "taken/12/folder").read_text() for each in (host, second)]
    assert folders == [f"{host.home}/jobgen/{NAME}", f"{second.home}/else/where"]
    for place in folders:
        (keeper,) = Path(place, ".jobgen").glob("keeper-*.py")
        assert keeper.read_bytes() == (here / ".jobgen" / keeper.name).read_bytes()
        (copy,) = (each for each in Path(place, ".jobgen/store/code").iterdir() if each.is_dir())
        assert (copy / "train.py").read_text() == "print('trained')\n"
    done = build(host, here, "--submit")
    assert done.stderr.decode().endswith("jobgen: 3 jobs: 3 in the queue already\n")
    assert (taken(host), taken(second)) == (["12", "13"], ["12"])


def test_the_code_of_jobs_that_are_not_due_stays_here(host: SshHost, here: Path) -> None:
    (here / "big").mkdir()
    (here / "big/train.py").touch()
    other = "  big: {matrix: {lr: [1]}, code: big, program: [big/train.py]}\n"
    (here / "jobgen.yaml").write_text(MANIFEST + other)
    assert build(host, here, "--submit", "--only", "bert").returncode == 0
    store = host.home / "jobgen" / NAME / ".jobgen/store/code"
    assert len([each for each in store.iterdir() if each.is_dir()]) == 1


def test_their_ends_come_back(host: SshHost, second: SshHost, here: Path) -> None:
    assert build(host, here, "--submit").returncode == 0
    end(host, here, "12", 0)
    end(host, here, "13", 0)
    end(second, here, "12", 7)
    done = build(host, here, "--submit", "--dry-run")
    assert (done.returncode, done.stdout) == (
        1, b"jobs/vit-1.sh: would be submitted: job 12 ended with status 7\n"
    )  # fmt: skip
    done = jobgen("runs", cwd=here, env=host.here)
    shown = [line.split() for line in done.stdout.decode().splitlines()[1:]]
    assert [(words[0], words[-2:]) for words in shown if "login2:12" in words] != []
    assert sorted(words[0] for words in shown) == ["login1:12", "login1:13", "login2:12"]
    show = jobgen("runs", "show", "login2:12", cwd=here, env=host.here).stdout
    assert re.search(rb"host +login2\n.*state +failed 7\n", show, re.DOTALL)
    assert b"several jobs have this number; name one of them: login1:12, login2:12" in jobgen(
        "runs", "show", "12", cwd=here, env=host.here
    ).stderr  # fmt: skip


def test_what_a_submission_has_noted_stays(host: SshHost, second: SshHost, here: Path) -> None:
    """The records of the jobs themselves, which come back, do not have it."""
    assert build(host, here, "--submit", "--only", "vit").returncode == 0
    end(second, here, "12", 0)
    record = here / "jobgen-logs/hosts/login2/12.json"
    noted = json.loads(record.read_text())
    for words in (("build", "--submit", "--dry-run"), ("runs", "--host", "login2:else/where")):
        assert jobgen(*words, cwd=here, env=host.here).returncode in (0, 1)
        found = json.loads(record.read_text())
        assert (found["end"], found["logs_there"]) == (2, f"{second.home}/else/where/jobgen-logs")
        assert found["submitted"] == noted["submitted"]


@pytest.mark.thorough
def test_the_home_there_is_no_folder_of_these_jobs(
    host: SshHost, second: SshHost, here: Path
) -> None:
    for each in (host, second):
        (each.home / "jobgen-logs/scripts").mkdir(parents=True)
        (each.home / "jobgen-logs/7.json").write_text('{"job": "7", "script": "0"}')
        (each.home / "taken").mkdir()
    assert build(host, here, "--submit", "--dry-run").returncode == 1
    assert jobgen("runs", "--host", "login1", cwd=here, env=host.here).stdout == b""
    assert not (here / "jobgen-logs").exists()
    done = jobgen("runs", "--host", "login1:.", cwd=here, env=host.here)
    assert b"login1:7 " in done.stdout


@pytest.mark.thorough
def test_a_result_here_submits_nothing_again_there(
    host: SshHost, second: SshHost, here: Path
) -> None:
    assert build(host, here, "--submit").returncode == 0
    for each, job in ((host, "12"), (host, "13"), (second, "12")):
        end(each, here, job, 0)
    (here / "result").touch()
    done = build(host, here, "--submit")
    assert (done.returncode, b": job" in done.stdout) == (0, False), done.stderr
    assert done.stderr.decode().splitlines()[-5:-2] == [
        "jobgen: 3 jobs: 3 succeeded before",
        "jobgen: 3 of them were submitted before a change of code",
        "jobgen:   new: result",
    ]


@pytest.mark.thorough
def test_they_are_followed_with_one_query_of_each_queue(
    host: SshHost, second: SshHost, here: Path
) -> None:
    assert build(host, here, "--submit").returncode == 0
    for job in ("12", "13"):
        (host.home / f"state-{job}").write_text("RUNNING\n")
    second.add("squeue", SQUEUE + "(($(wc -l < ~/asked) < 3)) || . ~/bin/end\n")
    script = (second.home / "taken/12/script").read_bytes()
    digest = hashlib.sha256(script).hexdigest()
    record = {"job": "12", "script": digest, "begin": 1, "end": 2, "status": 7, "logs": "12"}
    second.add("end", f"""\
cd ~/else/where; mkdir -p jobgen-logs/12/n1/12_a/attempt_0/0; echo FAILED > ~/state-12
cd jobgen-logs
echo 'torch.cuda.OutOfMemoryError: CUDA out of memory.' > 12/n1/12_a/attempt_0/0/stderr.log
echo 7 > 12/status
echo '{json.dumps(record)}' > 12.json""")  # fmt: skip
    host.add("squeue", SQUEUE + "(($(wc -l < ~/asked) < 2)) || echo COMPLETED | tee ~/state-1{2,3}")
    done = build(host, here, "--wait")
    assert done.returncode == 1
    errors = done.stderr.decode()
    assert "jobgen: bert-1: job 12: COMPLETED (exit status 0)\n" in errors
    assert "jobgen: 3 jobs: 2 succeeded, 1 failed\n" in errors
    failed = [line for line in errors.splitlines() if "vit-1: job 12: FAILED" in line]
    assert len(failed) == 2  # when it ends, and at the end
    assert "memory" in failed[0]
    polls = [(each.home / "asked").read_text().count("\n") for each in (host, second)]
    assert polls == [3, 4]
    assert (here / "jobgen-logs/hosts/login2/12/n1").is_dir()
    done = jobgen("why", "12", cwd=here, env=host.here)
    assert (done.returncode, b"memory" in done.stdout) == (0, True), done.stderr


def test_a_run_that_is_cut_off_submits_nothing_twice(
    host: SshHost, second: SshHost, here: Path
) -> None:
    """The login node takes the second script, after a while, and the laptop hears of it never."""
    host.add("hang_up", HANG_UP)
    host.add("kill_laptop", "kill -9 $(cat ~/laptop)")
    host.add(
        "sbatch",
        f"[[ ! -e ~/last || -e ~/cut ]] || {{ touch ~/cut; kill_laptop; sleep 3; }}\n{SBATCH}",
    )
    words = ["bash", "-c", f"echo $$ > '{host.home}/laptop'; exec jobgen build --submit"]
    done = subprocess.run(
        words, cwd=here, env={**os.environ, **host.here}, check=False,
        capture_output=True,
    )  # fmt: skip
    assert done.returncode == -9
    again = build(host, here, "--submit")
    errors = again.stderr.decode()
    assert "bert-2: job 13 was submitted by a run that was cut off" in errors
    assert errors.endswith("jobgen: 3 jobs: 1 submitted, 2 in the queue already\n")
    assert (taken(host), taken(second)) == (["12", "13"], ["12"])


def test_a_connection_that_is_cut(host: SshHost, second: SshHost, here: Path) -> None:
    host.add("hang_up", HANG_UP)
    host.add("sbatch", f"{SBATCH}\n[[ -e ~/cut ]] || {{ touch ~/cut; hang_up; }}")
    done = build(host, here, "--submit")
    assert done.returncode == 0, done.stderr
    assert b"trying again: nothing is submitted twice" in done.stderr
    assert (taken(host), taken(second)) == (["12", "13"], ["12"])


def test_a_host_for_jobs_that_name_none(host: SshHost, second: SshHost, here: Path) -> None:
    manifest = here / "jobgen.yaml"
    manifest.write_text(MANIFEST.replace("host: login1, ", ""))
    done = build(host, here, "--submit", "--host", "login1", "--only", "bert")
    assert done.returncode == 0, done.stderr
    assert (taken(host), taken(second)) == (["12", "13"], [])
    assert not (here / "jobgen-logs/12.json").exists()


@pytest.mark.parametrize(
    ("text", "words", "error"),
    [
        (
            MANIFEST.replace("login1,", "-x,"),
            ("--submit",),
            "jobgen.yaml:2:60: '-x' is not HOST[:F",
        ),
        (MANIFEST, ("--host", "login1"), "--host: it works only with --submit"),
        (MANIFEST.replace("login1,", "nowhere,"), ("--submit",), "nowhere does not answer: ssh: "),
    ],
)
def test_a_wrong_host(
    text: str, words: tuple[str, ...], error: str, host: SshHost, second: SshHost, here: Path
) -> None:
    (here / "jobgen.yaml").write_text(text)
    done = build(host, here, *words)
    assert done.returncode == 2
    assert error in done.stderr.decode()
    assert (taken(host), taken(second)) == ([], [])
