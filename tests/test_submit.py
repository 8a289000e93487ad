"""--submit and --wait, with stand-ins for the schedulers' commands and their recorded answers."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import pytest

from jobgen import cli, submit
from jobgen.job import Job
from jobgen.progress import cut, last_line, visible
from jobgen.schedulers import local, pbs, slurm
from jobgen.schedulers.queue import Queue, Standing
from tests.helpers import jobgen, planned

SBATCH = ("sbatch", "--profile", "dgx-a100")
QSUB = ("qsub", "--profile", "eap")
PROGRAM = ("--", "train.py", "é")

# Slurm 22.05, `scontrol show job`, with the lines left out that nobody reads here.
SCONTROL = """\
JobId=12 JobName=x JobState=COMPLETED ExitCode=0:0
   UserId=root(0) GroupId=root(0) MCS_label=N/A
   JobState={state} Reason={reason} Dependency=(null)
   Requeue=1 Restarts={restarts} BatchFlag=1 Reboot=0 ExitCode={code}
   RunTime=00:01:03 TimeLimit=1-00:00:00 TimeMin=N/A
   Command=(null)
   WorkDir=/home/a b
   StdErr=/home/a b/x-12.err
   StdIn=/dev/null
   StdOut={output}
   Power=
"""
# OpenPBS 23, `qstat -f`, in the same way.
QSTAT = """\
Job Id: 12.login
    Job_Name = x
    resources_used.walltime = 00:00:11
    job_state = {state}
    Output_Path = login:/home/jobs/a-long-name-of-a-folder/that-is-folded/at-column
\t-80/x.o12
    comment = Not Running: Insufficient amount of resource: ngpus
{more}    Variable_List = PBS_O_HOME=/home,X=a
    job_state = F
    Submit_Host = login

"""


def scontrol(state: str, code: str = "0:0", **more: str) -> str:
    said = {"reason": "None", "restarts": "0", "output": "/home/a b/x-12.out", **more}
    return SCONTROL.format(state=state, code=code, **said)


def qstat(state: str, **more: str) -> str:
    lines = "".join(f"    {name} = {value}\n" for name, value in more.items())
    return QSTAT.format(state=state, more=lines)


@pytest.mark.parametrize(
    ("state", "code", "reason", "note", "status"),
    [
        ("PENDING", "0:0", "Resources", "Resources", None),
        ("PENDING", "0:0", "None", "", None),
        ("RUNNING", "0:0", "None", "", None),
        ("COMPLETING", "7:0", "NonZeroExitCode", "", None),
        ("COMPLETED", "0:0", "None", "", 0),
        ("FAILED", "7:0", "NonZeroExitCode", "exit code 7", 7),
        ("FAILED", "0:9", "JobLaunchFailure", "signal 9", 137),
        ("CANCELLED", "0:15", "None", "", 1),
        ("TIMEOUT", "0:0", "TimeLimit", "", 1),
        ("TIMEOUT", "143:0", "TimeLimit", "exit code 143", 143),
        ("NODE_FAIL", "0:0", "NodeDown", "", 1),
        ("OUT_OF_MEMORY", "0:125", "OutOfMemory", "", 1),
    ],
)
def test_what_scontrol_says(
    state: str, code: str, reason: str, note: str, status: int | None
) -> None:
    elapsed = "" if state == "PENDING" else "00:01:03"
    said = Standing(state, note, 2, elapsed, "/home/a b/x-12.out", status)
    found = slurm.standing(scontrol(state, code, reason=reason, restarts="2"))
    assert found == said._replace(parts=(("12", said.status),))


def test_an_array_is_as_its_worst_task() -> None:
    first = scontrol("FAILED", "2:0", restarts="1", output="/a")
    found = slurm.standing(f"{first}\n{scontrol('COMPLETED', restarts='2')}")
    parts = (("12", 2), ("12", 0))
    assert found == Standing("1 FAILED, 1 COMPLETED", "", 3, "00:01:03", "/a", 2, parts)
    found = slurm.standing("\n".join([first, first, scontrol("RUNNING")]))
    assert found
    assert (found.state, found.status) == ("2 FAILED, 1 RUNNING", None)


@pytest.mark.parametrize(
    ("scheduler", "answer", "standing"),
    [
        (slurm, "   JobState=RUNNING Reason=None", Standing("RUNNING", parts=(("", None),))),
        (slurm, "   JobState=FAILED", Standing("FAILED", status=1, parts=(("", 1),))),
        (slurm, "   JobState=COMPLETED", Standing("COMPLETED", status=0, parts=(("", 0),))),
        (pbs, "    job_state = Q\n", Standing("QUEUED")),
        (pbs, "    job_state = R\n    Output_Path = a:/b:c\n", Standing("RUNNING", output="/b:c")),
        (pbs, "    job_state = Z\n", Standing("Z")),
    ],
)
def test_an_answer_with_less_in_it(scheduler: Queue, answer: str, standing: Standing) -> None:
    assert scheduler.standing(answer) == standing


@pytest.mark.parametrize(
    ("state", "more", "shown", "note", "status"),
    [
        ("Q", {}, "QUEUED", "Not Running: Insufficient amount of resource: ngpus", None),
        ("R", {"run_count": "1"}, "RUNNING", "", None),
        ("E", {"Exit_status": "0"}, "EXITING", "", None),
        ("X", {"Exit_status": "0"}, "X", "", None),
        ("F", {"Exit_status": "0"}, "FINISHED", "exit status 0", 0),
        ("F", {"Exit_status": "7"}, "FINISHED", "exit status 7", 7),
        ("F", {"Exit_status": "271"}, "FINISHED", "signal 15", 143),
        ("F", {"Exit_status": "-29"}, "FINISHED", "its walltime was over", 1),
        ("F", {}, "FINISHED", "it never ran", 1),
    ],
)
def test_what_qstat_says(
    state: str, more: dict[str, str], shown: str, note: str, status: int | None
) -> None:
    output = "/home/jobs/a-long-name-of-a-folder/that-is-folded/at-column-80/x.o12"
    said = Standing(shown, note, 0, "00:00:11", output, status)
    assert pbs.standing(qstat(state, **more)) == said


def test_a_folder_for_output_and_a_restart() -> None:
    answer = "Job Id: 7.login\n    job_state = R\n    Output_Path = login:/o/\n    run_count = 3\n"
    assert pbs.standing(answer) == Standing("RUNNING", "", 2, "", "/o/7.login.OU")


@pytest.mark.parametrize("scheduler", [slurm, pbs])
def test_what_is_no_answer(scheduler: Queue) -> None:
    assert scheduler.standing("") is None
    assert scheduler.submitted("Welcome to the cluster 2026") is None


@pytest.mark.parametrize(
    ("scheduler", "cluster", "commands"),
    [
        (slurm, "", ["scontrol show job 12", "scancel 12"]),
        (slurm, "east", ["scontrol -M east show job 12", "scancel -M east 12"]),
        (pbs, "", ["qstat -f 12", "qstat -x -f 12", "qdel 12"]),
    ],
)
def test_commands_about_a_job(scheduler: Queue, cluster: str, commands: list[str]) -> None:
    asked = [*scheduler.questions("12", cluster), scheduler.cancel("12", cluster)]
    assert [" ".join(words) for words in asked] == commands


def test_what_becomes_of_output_without_its_folder() -> None:
    sets = ("request.output=logs/%x/%j.out",)
    slurm_s = planned(Job("sbatch", profile="dgx-a100", name="n", sets=sets))
    assert slurm.lost_without(slurm_s) == "the job's output goes to logs/n, or is lost"
    pbs_s = planned(Job("qsub", profile="eap", sets=("request.output=a/b/",)))
    assert pbs.lost_without(pbs_s) == "live output goes to a/b, or PBS holds the job"
    assert pbs.lost_without(pbs_s._replace(live_output=False)) == ""
    here = planned(Job("local", profile="local", sets=("request.output=a/b",)))
    assert (local.output_folder(here), local.lost_without(here)) == ("", "")


@pytest.mark.parametrize(
    ("scheduler", "line", "job"),
    [
        (slurm, "12", ("12", "")),
        (slurm, "12;east", ("12", "east")),
        (slurm, "12;", None),
        (slurm, "٣", None),
        (pbs, "12.login-1", ("12.login-1", "")),
        (pbs, "12[].login", ("12[].login", "")),
        (pbs, "12[3].login", None),
        (pbs, "٣.login", None),
    ],
)
def test_the_id_of_a_job(scheduler: Queue, line: str, job: tuple[str, str] | None) -> None:
    assert scheduler.submitted(line) == job


class Tools:
    """Commands on PATH, written in bash; `answers` are what one does when it runs once more."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.path = {"PATH": f"{folder}:/usr/bin:/bin"}

    def add(self, name: str, *answers: str) -> None:
        for number, text in enumerate(answers, 1):
            (self.folder / f"{name}.{number}").write_text(text)
        tool = self.folder / name
        which = 'echo >> "$0.runs"; n=$(wc -l < "$0.runs")'
        tool.write_text(
            f'#!/bin/bash\n{which}; ((n < {len(answers)})) || n={len(answers)}; . "$0.$n"'
        )
        tool.chmod(0o755)

    def answer(self, name: str, *texts: str) -> None:
        self.add(name, *(f"cat <<'END'\n{text}\nEND" for text in texts))


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    return Tools(tmp_path / "bin")


@pytest.fixture
def wait(
    tools: Tools,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Wait:
    return Wait(tools, tmp_path, monkeypatch, capfd)


class Wait:
    """`jobgen … --wait` in this process, where no time passes between two questions."""

    def __init__(
        self,
        tools: Tools,
        folder: Path,
        patch: pytest.MonkeyPatch,
        captured: pytest.CaptureFixture[str],
    ) -> None:
        self.captured = captured
        self.pauses: list[float] = []
        patch.setenv("PATH", tools.path["PATH"])
        patch.chdir(folder)
        patch.setattr(submit, "sleep", self.pauses.append)

    def __call__(self, *words: str) -> tuple[int, str, list[str]]:
        status = cli.main([*words, "--wait", *PROGRAM], "jobgen", standalone_mode=False)
        said = self.captured.readouterr()
        return status, said.out, said.err.splitlines()


def test_the_id_is_alone_on_stdout_and_the_script_is_the_same(tools: Tools, tmp_path: Path) -> None:
    script = jobgen(*SBATCH, *PROGRAM).stdout
    tools.add("sbatch", 'cat > got; echo "$@" > words; echo 12')
    for words in ((), ("-o", "job.sh")):
        done = jobgen(*SBATCH, "--submit", *words, *PROGRAM, cwd=tmp_path, env=tools.path)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"12\n", b"")
        assert (tmp_path / "got").read_bytes() == script
        assert (tmp_path / "words").read_text() == "--parsable\n"
    assert (tmp_path / "job.sh").read_bytes() == script


def test_what_a_site_prints_beside_the_id_goes_to_stderr(tools: Tools) -> None:
    tools.add("sbatch", "cat > /dev/null; echo Welcome; echo '12;far'; echo Bye; echo own >&2")
    done = jobgen(*SBATCH, "--submit", env=tools.path)
    assert (done.returncode, done.stdout) == (0, b"12\n")
    said = done.stderr.decode().splitlines()
    assert "jobgen: Welcome" in said
    assert "jobgen: job 12 is on the cluster far; to cancel it: scancel -M far 12" in said
    assert "own" in said


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("cat > /dev/null; exit 3", 3),
        ("exit 170", 170),
        ("kill -9 $$", 137),
        ("cat > /dev/null", 1),
    ],
)
def test_a_refusal_is_the_scheduler_s_own(tools: Tools, answer: str, status: int) -> None:
    tools.add("sbatch", f"echo 'sbatch: its words' >&2; {answer}")
    env = f"X={'x' * 90000}"  # more than a pipe holds, for a command that does not read
    done = jobgen(*SBATCH, "-e", env, "--submit", env=tools.path)
    assert (done.returncode, done.stdout) == (status, b"")
    said = done.stderr.decode().splitlines()
    assert said[0] == "sbatch: its words"
    assert len(said) == (2 if status == 1 else 1)


@pytest.mark.parametrize("option", ["--submit", "--wait"])
def test_without_the_command_nothing_happens(tools: Tools, tmp_path: Path, option: str) -> None:
    only = {"PATH": str(tools.folder)}
    done = jobgen(*SBATCH, option, "-o", "job.sh", cwd=tmp_path, env=only)
    text = (
        "jobgen: --submit: `sbatch` does not run here: there is none on PATH; do this on a login"
        " node, or from here: jobgen sbatch … | ssh LOGIN sbatch [submit]\n"
    )
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", text)
    assert not (tmp_path / "job.sh").exists()
    (tools.folder / "sbatch").write_text("#!/no/such/shell\n")
    (tools.folder / "sbatch").chmod(0o755)
    done = jobgen(*SBATCH, option, env=only)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"jobgen: --submit: `sbatch` does not run here: No such file")


def test_nothing_is_submitted_when_its_file_cannot_be_written(tools: Tools, tmp_path: Path) -> None:
    tools.add("sbatch", "touch ran; echo 12")
    for words in (("-o", "no/job.sh"), ("-o", "-")):
        done = jobgen(*SBATCH, "--submit", *words, cwd=tmp_path, env=tools.path)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.count(b"\n") == 1
    assert not (tmp_path / "ran").exists()


def test_an_output_folder_is_mentioned_where_it_is_not_there(tools: Tools, tmp_path: Path) -> None:
    tools.add("sbatch", "cat > /dev/null; echo 12")
    words = (*SBATCH, "--submit", "--set", "request.output=logs/%j.out")
    done = jobgen(*words, cwd=tmp_path, env=tools.path)
    said = b"jobgen: the job's output goes to logs, or is lost: make that folder first, or say "
    said += b"--mkdir\n"
    assert (done.stdout, done.stderr) == (b"12\n", said)
    (tmp_path / "logs").mkdir()
    done = jobgen(*words, cwd=tmp_path, env=tools.path)
    assert (done.stdout, done.stderr) == (b"12\n", b"")


def test_an_id_that_cannot_be_written_is_on_stderr(tools: Tools) -> None:
    tools.add("sbatch", "cat > /dev/null; echo 12")
    with Path("/dev/full").open("wb") as full:
        done = jobgen(*SBATCH, "--submit", env=tools.path, stdout=full.fileno())
    assert done.returncode == 2
    assert b"jobgen: the job is submitted: 12\n" in done.stderr


@pytest.mark.parametrize("words", [("local",), ("interactive", "--profile", "mi210")])
def test_other_commands_submit_nothing(words: tuple[str, ...]) -> None:
    assert b"No such option" in jobgen(*words, "--submit").stderr


def test_a_script_alone_imports_nothing_of_this() -> None:
    names = {"jobgen.submit", "jobgen.progress", "jobgen.schedulers.queue", "subprocess"}
    run = f"from jobgen import cli; cli.main({[*SBATCH, '-o', os.devnull]}, standalone_mode=False)"
    look = f"import sys; {run}; print({names} & {{*sys.modules}})"
    assert subprocess.check_output([sys.executable, "-c", look]) == b"set()\n"


# ---- --wait ----


def test_a_line_for_each_change(tools: Tools, wait: Wait) -> None:
    tools.add("sbatch", "cat > /dev/null; echo 12")
    again = {"restarts": "1"}
    tools.answer(
        "scontrol",
        scontrol("PENDING", reason="Priority"),
        scontrol("PENDING", reason="Resources"),
        *[scontrol("RUNNING")] * 30,
        scontrol("RUNNING", **again),
        scontrol("FAILED", "7:0", **again),
    )
    assert wait(*SBATCH) == (
        7,
        "12\n",
        [
            "jobgen: job 12: PENDING (Priority)",
            "jobgen: job 12: RUNNING, 00:01:03",
            "jobgen: job 12: RUNNING (restart 1), 00:01:03",
            "jobgen: job 12: FAILED (exit code 7, restart 1), 00:01:03; output: /home/a b/x-12.out",
        ],
    )
    assert (wait.pauses[0], wait.pauses[-1]) == (1, 10)
    assert wait.pauses == sorted(wait.pauses)


def test_a_task_of_an_array_that_slurm_has_forgotten_counts(tools: Tools, wait: Wait) -> None:
    """It forgets ended ones after MinJobAge, one by one; the last answer is not the whole story."""
    tools.add("sbatch", "cat > /dev/null; echo 12")
    first, last = scontrol("FAILED", "3:0"), scontrol("RUNNING").replace("JobId=12", "JobId=13")
    tools.answer("scontrol", f"{first}\n{last}", last, last.replace("RUNNING", "COMPLETED"))
    assert wait(*SBATCH, "--wait")[0] == 3


def test_an_error_that_passes_is_no_end(tools: Tools, wait: Wait) -> None:
    tools.add("sbatch", "cat > /dev/null; echo 12")
    fails = "echo 'slurm_load_jobs error: Socket timed out' >&2; exit 1"
    tools.add("scontrol", *[fails] * submit.MISSES, f"cat <<'END'\n{scontrol('COMPLETED')}\nEND")
    status, _, said = wait(*SBATCH)
    assert status == 0
    assert said == [
        "jobgen: job 12: asked again in a moment: slurm_load_jobs error: Socket timed out",
        "jobgen: job 12: COMPLETED, 00:01:03; output: /home/a b/x-12.out",
    ]


@pytest.mark.parametrize(
    ("error", "times"), [("Invalid job id specified", 2), ("Socket timed out", submit.MISSES + 2)]
)
def test_a_job_that_is_lost(tools: Tools, wait: Wait, error: str, times: int) -> None:
    tools.add("sbatch", "cat > /dev/null; echo 12")
    running = f"cat <<'END'\n{scontrol('RUNNING')}\nEND"
    tools.add("scontrol", running, f"echo 'slurm_load_jobs error: {error}' >&2; exit 1")
    status, _, said = wait(*SBATCH)
    assert status == 1
    why = f"its exit status is not known: slurm_load_jobs error: {error}"
    last = f"RUNNING when last seen ({why}), 00:01:03; output: /home/a b/x-12.out"
    assert said[-1] == f"jobgen: job 12: {last}"
    assert (tools.folder / "scontrol.runs").read_text().count("\n") == times


def test_pbs_with_a_history(tools: Tools, wait: Wait) -> None:
    """What qsub itself says is less: 3 for any job that qdel ended."""
    tools.add("qsub", 'echo "$@" > words; cat > /dev/null; echo 12.login; exit 3')
    finished = qstat("F", Exit_status="271")
    tools.add(
        "qstat",
        f"cat <<'END'\n{qstat('R')}\nEND",
        "echo 'qstat: 12.login Job has finished, use -x' >&2; exit 35",
        f"[[ $* == \"-x -f 12.login\" ]] && cat <<'END'\n{finished}\nEND",
    )
    status, out, said = wait(*QSUB)
    assert (status, out) == (143, "12.login\n")
    assert said[-1].startswith(
        "jobgen: job 12.login: FINISHED (signal 15), 00:00:11; output: /home"
    )
    assert Path("words").read_text() == "-W block=true\n"


def test_pbs_without_a_history(tools: Tools, wait: Wait) -> None:
    tools.add("qsub", "cat > /dev/null; echo 12.login; exit 7")
    forgotten = "echo 'qstat: Unknown Job Id 12.login' >&2; exit 153"
    tools.add("qstat", f"cat <<'END'\n{qstat('R')}\nEND", forgotten)
    status, _, said = wait(*QSUB)
    assert status == 7
    assert said[-1].startswith("jobgen: job 12.login: ENDED (exit status 7); output: /home/jobs")


def test_a_qsub_that_stays_gets_no_signal(tools: Tools, wait: Wait) -> None:
    """It would delete the job."""
    look = "grep SigBlk /proc/$$/status > mask"
    tools.add("qsub", f"cat > /dev/null; {look}; echo 12.login")
    tools.add("qstat", "echo 'Unknown Job Id' >&2; exit 153")
    wait(*QSUB)
    mask = int(Path("mask").read_text().split()[1], 16)
    assert [number for number in (1, 2, 3, 15) if not mask >> (number - 1) & 1] == []


def test_a_terminal_has_one_line(
    tools: Tools, wait: Wait, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "x.out"
    output.write_text("first\nstep 1\r\x1b[31mstep 2\x1b[0m\t界" + "é" * 99 + "\n\n")
    tools.add("sbatch", "cat > /dev/null; echo 12")
    tools.answer(
        "scontrol",
        scontrol("PENDING", reason="Resources"),
        scontrol("RUNNING", output=str(output)),
        scontrol("COMPLETED", output=str(output)),
    )
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 50, 0, 0))
    monkeypatch.setenv("TERM", "xterm")
    with open(theirs, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        assert wait(*SBATCH)[0] == 0
    shown = b""
    with suppress(OSError):  # the end, on Linux
        while more := os.read(ours, 65536):
            shown += more
    os.close(ours)
    lines = re.findall("\r([^\r\n\x1b]+)\x1b\\[K", shown.decode())
    assert lines == [
        "job 12: PENDING (Resources)  ",
        "job 12: RUNNING, 00:01:03  step 2 界" + "é" * 13,
    ]
    last = f"\r\x1b[Kjobgen: job 12: COMPLETED, 00:01:03; output: {output}\r\n"
    assert shown.decode().endswith(last)


def test_the_width_of_what_is_shown() -> None:
    assert cut("ab界c", 4) == "ab界"
    assert cut("ab界c", 3) == "ab"
    assert cut("e\u0301e\u0301e", 2) == "e\u0301e\u0301"
    assert visible("a\x1b[2Kb\x07\u202ec\té", "ascii") == "abc ?"


def test_output_that_is_not_there_has_no_last_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "blank").write_text("\n \n")
    for name in ("nothing", "pipe", "blank", "."):
        assert last_line(str(tmp_path / name)) == ""
    assert last_line("a\0b") == ""
