"""`--submit` and `--wait` with the real commands, as a user types them on a login machine."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cluster.harness import Cluster, until
from tests.cluster.jobs import PATH, Desk, PbsDesk, generate
from tests.cluster.site import OpenPbs, lab

ROOT = Path(__file__).parents[2]
# Quick jobs: one task, no torch.
ONE = ("sbatch", "--profile", "dgx-a100", "-N", "1", "-G", "0", "--set", "node.gpu=none")
ONE = (*ONE, "--launcher", "srun")
UNTIL = ("--", "sh", "-c", "echo up; touch up; until [ -e go ]; do sleep 0.1; done")
# Of a shell's background job, Python would take no SIGINT; the session is the terminal's part.
BEGIN = ("setsid", "env", "--default-signal=INT", "sh", "-c", 'echo $$ > pid; exec "$@"', "sh")


class Waiting:
    """A `jobgen … --wait` that goes on: what it says, line by line."""

    def __init__(self, cluster: Cluster, words: Sequence[str], folder: Path) -> None:
        self.cluster, self.folder = cluster, folder
        self.process = subprocess.Popen(
            cluster.command(words), env=cluster.environment({"PATH": PATH}), cwd=folder, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert self.process.stdout
        self.job = self.process.stdout.readline().strip()

    def until(self, text: str) -> None:
        """Read on to a line that has `text`."""
        assert self.process.stderr
        lines = []
        for line in self.process.stderr:
            lines.append(line)
            if text in line:
                return
        raise AssertionError(f"no {text!r} in {lines}")

    def end(self) -> tuple[int, str]:
        """The exit status and the last line about the job; what `why` finds comes after it."""
        out, messages = self.process.communicate(timeout=180)
        assert out == ""
        own = f"jobgen: job {self.job}: "
        *_, last = (line for line in messages.splitlines() if line.startswith(own))
        return self.process.returncode, last.removeprefix(own)

    def interrupt(self) -> None:
        """Ctrl-C, for all of the terminal's processes."""
        pid = (self.folder / "pid").read_text().strip()
        assert self.cluster.run(["kill", "-INT", "--", f"-{pid}"]).returncode == 0


@pytest.fixture
def here(cluster: Cluster, tmp_path: Path) -> Desk:
    """A folder to submit from, for jobs without torch."""
    return Desk(cluster, tmp_path)


def jobgen(desk: Desk, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "jobgen", *ONE, *words]
    return desk.cluster.run(command, cwd=desk.folder, env={"PATH": PATH})


def wait(desk: Desk, *words: str) -> Waiting:
    """A job that runs."""
    command = [*BEGIN, sys.executable, "-m", "jobgen", *ONE, "--wait", *words]
    waiting = Waiting(desk.cluster, command, desk.folder)
    waiting.until("RUNNING")
    return waiting


def test_the_id_is_alone_on_stdout_and_the_job_runs(here: Desk) -> None:
    done = jobgen(here, "--submit", "--", "echo", "it ran")
    assert (done.returncode, done.stderr) == (0, "")
    ended = here.cluster.wait(int(done.stdout), 60)
    assert ended.state == "COMPLETED"
    assert "it ran\n" in ended.output


@pytest.mark.parametrize(
    "words",
    [
        ("-p", "nope"),
        ("-t", "48:00:00"),
        # What 22.05 lacks, as docs/profiles.md quotes it; with its slurm_version, jobgen refuses.
        ("--set", "request.segment=16"),
        ("--requeue", "--set", "launch.expedite=true"),
    ],
)
def test_what_sbatch_refuses_is_in_its_own_words(here: Desk, words: tuple[str, ...]) -> None:
    script = generate(*ONE, *words, cwd=here.folder)
    own = here.cluster.run(["sbatch"], input=script, cwd=here.folder)
    assert own.returncode
    if "request.segment=16" in words:
        assert "unrecognized option '--segment=16'" in own.stderr
    done = jobgen(here, *words, "--submit")
    assert (done.returncode, done.stdout, done.stderr) == (own.returncode, "", own.stderr)


@pytest.mark.parametrize(("status", "state"), [(0, "COMPLETED"), (7, "FAILED (exit code 7)")])
def test_wait_ends_as_the_job_does(here: Desk, status: int, state: str) -> None:
    done = jobgen(here, "--wait", "--", "sh", "-c", f"exit {status}")
    assert done.returncode == status, done.stderr
    last = rf"jobgen: job {done.stdout.strip()}: {re.escape(state)}, \d\d:\d\d:\d\d; output: "
    assert re.search(f"(?m)^{last}{re.escape(str(here.folder))}/.*.out$", done.stderr)


def test_wait_shows_the_output_of_the_job_that_ended_a_chain(here: Desk) -> None:
    """The jobs that are cancelled have none."""
    done = jobgen(here, "--chain", "5", "-t", "30", "--wait", "--", "sh", "-c", "exit 0")
    assert done.returncode == 0, done.stderr
    job = done.stdout.strip()
    ended, word = done.stderr.splitlines()[-2:]
    output = re.sub(f"^jobgen: job {job}: .*; output: ", "", ended)
    assert re.search(r"_1\.out$", output), done.stderr
    assert word == f"jobgen: chain {job}: job 1 is done: the program ended by itself, with 0"
    assert "jobgen: chain of 5 jobs: job 1 is done: " in Path(output).read_text()
    assert [file.name for file in here.folder.glob("*.out")] == [Path(output).name]


@pytest.mark.parametrize(
    ("command", "status", "state"),
    [
        ("scancel", 143, "CANCELLED (exit code 143),"),
        ("scancel --batch --signal=KILL", 137, "FAILED (signal 9),"),
    ],
)
def test_a_job_that_is_ended(here: Desk, command: str, status: int, state: str) -> None:
    waiting = wait(here, *UNTIL)
    until((here.folder / "up").exists)  # a job is RUNNING before its script is
    here.cluster.run([*command.split(), waiting.job])
    found, last = waiting.end()
    assert (found, last.startswith(state)) == (status, True), last


def test_a_job_that_is_queued_again_is_followed(here: Desk) -> None:
    waiting = wait(here, "--requeue", *UNTIL)
    here.cluster.run(["scontrol", "requeue", waiting.job])
    waiting.until("RUNNING (restart 1)")
    (here.folder / "go").touch()
    status, last = waiting.end()
    assert (status, last.startswith("COMPLETED (restart 1)")) == (0, True), last


def test_ctrl_c_leaves_the_job(here: Desk) -> None:
    waiting = wait(here, *UNTIL)
    waiting.interrupt()
    last_line = f"it continues; to cancel it: scancel {waiting.job}"
    assert waiting.end() == (130, last_line)
    (here.folder / "go").touch()
    assert here.cluster.wait(int(waiting.job), 60).state == "COMPLETED"


# ---- on a real PBS alone ----


def qsub(real: PbsDesk, *words: str) -> list[str]:
    """The command of the user; one node, and output at the end."""
    assert isinstance(real.site, OpenPbs)
    os.chown(real.folder, 20001, 20001)
    one = ("--profile", "eap", *lab(ranks=1), "-N", "1")
    python = [*BEGIN, "env", f"PYTHONPATH={ROOT}", sys.executable]
    return real.site.command(*python, "-m", "jobgen", "qsub", *one, *words)


def qsub_wait(real: PbsDesk, *words: str, until: str = "RUNNING") -> Waiting:
    waiting = Waiting(real.site.cluster, qsub(real, "--wait", *words), real.folder)
    real.jobs.append(waiting.job)
    waiting.until(until)
    return waiting


def test_pbs_takes_the_script(real: PbsDesk) -> None:
    cluster = real.site.cluster
    done = cluster.run(qsub(real, "--submit", "--", "echo", "it ran"), cwd=real.folder)
    assert (done.returncode, done.stderr) == (0, "")
    job = done.stdout.removesuffix("\n")
    ended = real.site.wait(job, real.folder)
    assert (ended.status, "it ran\n" in ended.output) == (0, True)
    done = cluster.run(qsub(real, "--submit", "-q", "nope"), cwd=real.folder)
    assert (done.returncode, done.stdout, done.stderr) == (170, "", "qsub: Unknown queue\n")


def test_qdel_is_seen(real: PbsDesk) -> None:
    """Not as the 3 that a qsub with block=true ends with, before the job has ended."""
    waiting = qsub_wait(real, *UNTIL)
    real.site.wait_for("up\n", waiting.job, real.folder)
    real.site.delete(waiting.job)
    status, last = waiting.end()
    assert (status, last.startswith("FINISHED (signal 15),")) == (143, True), last


def test_a_pbs_job_that_waits_for_another(real: PbsDesk) -> None:
    """The option on qsub's command line leaves the script's own -W as it is."""
    assert isinstance(real.site, OpenPbs)
    first = qsub_wait(real, "--directive=-h", *UNTIL, until="HELD")
    after = f"--directive=-W depend=afterok:{first.job}"
    second = qsub_wait(real, after, *UNTIL, until="HELD")
    assert real.site.attributes(second.job)["depend"] == f"afterok:{first.job}@login"
    for waiting in (first, second):
        real.site.delete(waiting.job)
        status, last = waiting.end()
        assert (status, last.startswith("FINISHED (it never ran)")) == (1, True), last


def test_ctrl_c_leaves_a_pbs_job(real: PbsDesk) -> None:
    waiting = qsub_wait(real, *UNTIL)
    real.site.wait_for("up\n", waiting.job, real.folder)
    # Even alone: a qsub that waits deletes its job when a signal reaches it.
    (pid,) = real.site.cluster.run(["pgrep", "-f", "^qsub -W block"]).stdout.split()
    real.site.cluster.run(["kill", "-INT", pid])
    pending = real.site.cluster.run(["grep", "ShdPnd", f"/proc/{pid}/status"]).stdout
    assert int(f"0{pending.removeprefix('ShdPnd:').strip()}", 16) == 1 << signal.SIGINT - 1
    waiting.interrupt()
    assert waiting.end() == (130, f"it continues; to cancel it: qdel {waiting.job}")
    (real.folder / "go").touch()
    assert real.site.wait(waiting.job, real.folder).status == 0


@pytest.mark.parametrize(("program", "status"), [("true", 0), ("false", 1)])
def test_a_pbs_without_a_history(real: PbsDesk, program: str, status: int) -> None:
    """Then it tells how a job ended to nobody but a qsub that stays."""
    assert isinstance(real.site, OpenPbs)

    def history(on: str) -> None:
        setting = f"set server job_history_enable={on}"
        qmgr = [str(real.site.folder / "bin/qmgr"), "-c", setting]
        assert real.site.cluster.run(qmgr).returncode == 0

    history("false")
    try:
        waiting = qsub_wait(real, "--", program)
        found, last = waiting.end()
    finally:
        history("true")
    real.jobs.remove(waiting.job)  # PBS no longer knows that it has ended
    assert (found, last.startswith(f"ENDED (exit status {status});")) == (status, True), last
