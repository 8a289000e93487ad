"""--submit and --wait, with scripts for the schedulers' commands that give recorded answers."""

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
from signal import SIGHUP, SIGINT, SIGQUIT, SIGTERM

import pytest

from jobgen.cli.app import run_words
from jobgen.cli.commands.job_commands import report_cause
from jobgen.planning.job_options import Job
from jobgen.runs.records import read_records
from jobgen.schedulers import local, pbs, slurm
from jobgen.submission import follow
from jobgen.submission.follow import MOST_FAILURES, displayable, last_line, shorten
from jobgen.submission.queues import pbs_queue, slurm_queue
from jobgen.submission.queues.job_queue import ArrayJob, JobQueue, JobStatus
from tests.helpers import jobgen, planned

SBATCH = ("sbatch", "--profile", "dgx-a100")
QSUB = ("qsub", "--profile", "eap")
PROGRAM = ("--", "train.py", "é")
EDIT = (  # the warning if the program is here, and is not copied
    "jobgen: warning: --submit: an edit of train.py before the job starts changes the job;"
    " with --code ., it runs what is there now [edit]"
)

# Slurm 22.05, `scontrol show job`, without the lines that jobgen does not read.
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
# OpenPBS 23, `qstat -f`, likewise.
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
    """The answer of scontrol about a job in a state."""
    fields = {"reason": "None", "restarts": "0", "output": "/home/a b/x-12.out", **more}
    return SCONTROL.format(state=state, code=code, **fields)


def slurm_status(state: str, exit_status: int | None) -> JobStatus:
    """The status of a job of Slurm without an id."""
    return JobStatus(state, exit_status=exit_status, array_jobs=(ArrayJob("", exit_status),))


def qstat(state: str, **more: str) -> str:
    """The answer of qstat about a job in a state, with more attributes."""
    lines = "".join(f"    {name} = {value}\n" for name, value in more.items())
    return QSTAT.format(state=state, more=lines)


@pytest.mark.parametrize(
    ("state", "code", "reason", "note", "exit_status"),
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
def test_the_status_in_an_answer_of_scontrol(
    state: str, code: str, reason: str, note: str, exit_status: int | None
) -> None:
    elapsed = "" if state == "PENDING" else "00:01:03"
    expected = JobStatus(state, note, 2, elapsed, "/home/a b/x-12.out", exit_status)
    parsed = slurm_queue.parse_status(scontrol(state, code, reason=reason, restarts="2"))
    assert parsed == expected._replace(
        array_jobs=(ArrayJob("12", exit_status, "", "/home/a b/x-12.out"),)
    )


def test_an_array_has_the_status_of_its_worst_job() -> None:
    first = scontrol("FAILED", "2:0", restarts="1", output="/a")
    status = slurm_queue.parse_status(f"{first}\n{scontrol('COMPLETED', restarts='2')}")
    jobs = (ArrayJob("12", 2, "", "/a"), ArrayJob("12", 0, "", "/home/a b/x-12.out"))
    assert status == JobStatus("1 FAILED, 1 COMPLETED", "", 3, "00:01:03", "/a", 2, jobs)
    status = slurm_queue.parse_status("\n".join([first, first, scontrol("RUNNING")]))
    assert status
    assert (status.state, status.exit_status) == ("2 FAILED, 1 RUNNING", None)


@pytest.mark.parametrize(
    ("queue", "answer", "status"),
    [
        (slurm_queue.QUEUE, "   JobState=RUNNING Reason=None", slurm_status("RUNNING", None)),
        (slurm_queue.QUEUE, "   JobState=FAILED", slurm_status("FAILED", 1)),
        (slurm_queue.QUEUE, "   JobState=COMPLETED", slurm_status("COMPLETED", 0)),
        (pbs_queue.QUEUE, "    job_state = Q\n", JobStatus("QUEUED")),
        (
            pbs_queue.QUEUE,
            "    job_state = R\n    Output_Path = a:/b:c\n",
            JobStatus("RUNNING", output="/b:c"),
        ),
        (pbs_queue.QUEUE, "    job_state = Z\n", JobStatus("Z")),
    ],
)
def test_an_answer_with_few_fields(queue: JobQueue, answer: str, status: JobStatus) -> None:
    assert queue.parse_status(answer) == status


@pytest.mark.parametrize(
    ("letter", "more", "state", "note", "exit_status"),
    [
        ("Q", {}, "QUEUED", "Not Running: Insufficient amount of resource: ngpus", None),
        ("R", {"run_count": "1"}, "RUNNING", "", None),
        ("E", {"Exit_status": "0"}, "EXITING", "", None),
        ("X", {"Exit_status": "0"}, "X", "", None),
        ("F", {"Exit_status": "0"}, "FINISHED", "exit status 0", 0),
        ("F", {"Exit_status": "7"}, "FINISHED", "exit status 7", 7),
        ("F", {"Exit_status": "271"}, "FINISHED", "signal 15", 143),
        ("F", {"Exit_status": "-29"}, "FINISHED", "walltime exceeded", 1),
        ("F", {}, "FINISHED", "it never ran", 1),
    ],
)
def test_the_status_in_an_answer_of_qstat(
    letter: str, more: dict[str, str], state: str, note: str, exit_status: int | None
) -> None:
    output = "/home/jobs/a-long-name-of-a-folder/that-is-folded/at-column-80/x.o12"
    status = JobStatus(state, note, 0, "00:00:11", output, exit_status)
    assert pbs_queue.parse_status(qstat(letter, **more)) == status


@pytest.mark.parametrize(
    ("status", "is_outside"),
    [
        (JobStatus("CANCELLED", exit_status=1), True),
        (JobStatus("2 CANCELLED, 1 TIMEOUT", exit_status=1), True),
        (JobStatus("1 CANCELLED, 1 FAILED", exit_status=1), False),
        (JobStatus("FAILED", "exit code 1", exit_status=1), False),
        (JobStatus("FINISHED", "it never ran", exit_status=1), True),
        (JobStatus("FINISHED", "exit status 1", exit_status=1), False),
    ],
)
def test_who_ended_a_job_by_its_status(status: JobStatus, is_outside: bool) -> None:
    assert bool(status.outside) is is_outside


def test_an_output_folder_of_pbs_and_a_restart() -> None:
    answer = "Job Id: 7.login\n    job_state = R\n    Output_Path = login:/o/\n    run_count = 3\n"
    assert pbs_queue.parse_status(answer) == JobStatus("RUNNING", "", 2, "", "/o/7.login.OU")


@pytest.mark.parametrize("text", ["x", "", "9" * 5000, "-", "1e3"])
def test_an_answer_in_which_numbers_and_times_are_none(text: str) -> None:
    """It may be a stranger's: that of a login node (--host)."""
    for letter in "RF":
        answer = qstat(letter, run_count=text, Exit_status=text, ctime=text)
        assert pbs_queue.parse_status(answer)
        assert [each.submitted for each in pbs_queue.parse_jobs(answer)] == [0]
    assert slurm_queue.parse_status(scontrol("FAILED", f"{text}:{text}", restarts=text))
    line = "\x1f".join(["12", "RUNNING", "0:00", "None", "n", "/x", text])
    assert [each.submitted for each in slurm_queue.parse_own_jobs(line)] == [0]


@pytest.mark.parametrize("queue", [slurm_queue.QUEUE, pbs_queue.QUEUE])
def test_other_output_has_no_status_and_no_id(queue: JobQueue) -> None:
    assert queue.parse_status("") is None
    assert queue.parse_id("Welcome to the cluster 2026") is None


@pytest.mark.parametrize(
    ("queue", "cluster", "commands"),
    [
        (slurm_queue.QUEUE, "", ["scontrol show job 12", "scancel 12"]),
        (slurm_queue.QUEUE, "east", ["scontrol -M east show job 12", "scancel -M east 12"]),
        (pbs_queue.QUEUE, "", ["qstat -f 12", "qstat -x -f 12", "qdel 12"]),
    ],
)
def test_the_commands_about_a_job(queue: JobQueue, cluster: str, commands: list[str]) -> None:
    lines = [*queue.query_commands("12", cluster), queue.cancel_command("12", cluster)]
    assert [" ".join(words) for words in lines] == commands


def test_what_is_lost_without_the_folder_of_the_output() -> None:
    values = ("request.output=logs/%x/%j.out",)
    plan = planned(Job("sbatch", profile="dgx-a100", name="n", set_values=values))
    assert slurm.lost_without_folder(plan) == "the job's output goes to logs/n, or is lost"
    plan = planned(Job("qsub", profile="eap", set_values=("request.output=a/b/",)))
    assert pbs.lost_without_folder(plan) == "live output goes to a/b, or PBS holds the job"
    plan = plan._replace(request=plan.request._replace(live_output=False))
    assert pbs.lost_without_folder(plan) == ""
    plan = planned(Job("local", profile="local", set_values=("request.output=a/b",)))
    assert (local.SCHEDULER.output_folder(plan), local.SCHEDULER.lost_without_folder(plan)) == (
        "",
        "",
    )


@pytest.mark.parametrize(
    ("queue", "line", "job"),
    [
        (slurm_queue.QUEUE, "12", ("12", "")),
        (slurm_queue.QUEUE, "12;east", ("12", "east")),
        (slurm_queue.QUEUE, "12;", None),
        (slurm_queue.QUEUE, "٣", None),
        (pbs_queue.QUEUE, "12.login-1", ("12.login-1", "")),
        (pbs_queue.QUEUE, "12[].login", ("12[].login", "")),
        (pbs_queue.QUEUE, "12[3].login", None),
        (pbs_queue.QUEUE, "٣.login", None),
    ],
)
def test_the_id_of_a_job(queue: JobQueue, line: str, job: tuple[str, str] | None) -> None:
    assert queue.parse_id(line) == job


class Commands:
    """Commands on PATH, written in bash; the Nth run of one is the Nth of its `runs`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.path = {"PATH": f"{folder}:/usr/bin:/bin"}

    def add(self, name: str, *runs: str) -> None:
        """Add a command that does the last of `runs` again and again, after the others."""
        for number, text in enumerate(runs, 1):
            (self.folder / f"{name}.{number}").write_text(text)
        command = self.folder / name
        count = 'echo >> "$0.runs"; n=$(wc -l < "$0.runs")'
        command.write_text(f'#!/bin/bash\n{count}; ((n < {len(runs)})) || n={len(runs)}; . "$0.$n"')
        command.chmod(0o755)

    def add_answers(self, name: str, *texts: str) -> None:
        """Add a command that prints these texts, one in each run."""
        self.add(name, *(f"cat <<'END'\n{text}\nEND" for text in texts))


@pytest.fixture
def commands(tmp_path: Path) -> Commands:
    return Commands(tmp_path / "bin")


@pytest.fixture
def wait(
    commands: Commands,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Wait:
    return Wait(commands, tmp_path, monkeypatch, capfd)


class Wait:
    """`jobgen … --wait` in this process, which does not sleep between two queries."""

    def __init__(
        self,
        commands: Commands,
        folder: Path,
        patch: pytest.MonkeyPatch,
        captured: pytest.CaptureFixture[str],
    ) -> None:
        self.captured = captured
        self.pauses: list[float] = []
        patch.setenv("PATH", commands.path["PATH"])
        patch.chdir(folder)
        (folder / "train.py").touch()
        patch.setattr(follow, "sleep", self.pauses.append)

    def __call__(self, *words: str) -> tuple[int, str, list[str]]:
        exit_code = run_words([*words, "--wait", *PROGRAM])
        output = self.captured.readouterr()
        return exit_code, output.out, output.err.removeprefix(f"{EDIT}\n").splitlines()


def test_the_id_is_alone_on_stdout_and_the_script_is_the_same(
    commands: Commands, tmp_path: Path
) -> None:
    script = jobgen(*SBATCH, *PROGRAM).stdout
    commands.add("sbatch", 'cat > stdin; echo "$@" > words; echo 12')
    (tmp_path / "train.py").touch()
    for words in ((), ("-o", "job.sh")):
        done = jobgen(*SBATCH, "--submit", *words, *PROGRAM, cwd=tmp_path, env=commands.path)
        assert (done.returncode, done.stdout) == (0, b"12\n")
        assert done.stderr.decode() == f"{EDIT}\n"
        assert (tmp_path / "stdin").read_bytes() == script
        assert (tmp_path / "words").read_text() == "--parsable\n"
    assert (tmp_path / "job.sh").read_bytes() == script


@pytest.mark.parametrize(
    ("words", "warned"),
    [
        (("-m", "lab.train"), "an edit of lab/train.py"),
        (("bash", "run.sh"), "an edit of run.sh"),
        (("./run.sh",), "an edit of ./run.sh"),
        (("hostname", "x"), ""),
        (("elsewhere.py",), ""),
        ((), ""),  # the profile's trainer
        (("--code", ".", "--", "lab/train.py"), ""),
        (
            ("--code", ".", "--", "lab/train.py", "--config=a.yaml", "b.yaml"),
            "--code: the job reads a.yaml in the working folder, as it is then",
        ),
    ],
)
def test_an_edit_would_change_the_job(
    commands: Commands, tmp_path: Path, words: tuple[str, ...], warned: str
) -> None:
    commands.add("sbatch", "cat > /dev/null; echo 12")
    (tmp_path / "lab").mkdir()
    for name in ("lab/train.py", "run.sh", "a.yaml", "b.yaml"):
        (tmp_path / name).touch(0o755)
    program = words if "--" in words else ("--", *words) if words else ()
    done = jobgen(*SBATCH, "--submit", *program, cwd=tmp_path, env=commands.path)
    assert (done.returncode, done.stdout) == (0, b"12\n"), done.stderr
    assert (warned in done.stderr.decode()) if warned else (b"--submit:" not in done.stderr)
    assert done.stderr.count(b"[edit]") == bool(warned)
    assert b"--submit" not in jobgen(*SBATCH, *program, cwd=tmp_path).stderr


@pytest.mark.parametrize(
    ("words", "file"),
    [
        ((), "jobgen-logs/12.json"),
        (("--log-dir", "$HERE/logs"), "logs/12.json"),
        (("--log-dir", "$PWD/logs"), "logs/12.json"),
        (("--set", "request.chdir=work"), "work/jobgen-logs/12.json"),
        (("--set", "request.chdir=work", "--log-dir", "$PWD/logs"), "work/logs/12.json"),
    ],
)
def test_a_submission_is_recorded_where_the_job_records_its_begin(
    commands: Commands, tmp_path: Path, words: tuple[str, ...], file: str
) -> None:
    commands.add("sbatch", "cat > stdin; echo 12")
    env = {**commands.path, "HERE": str(tmp_path)}
    done = jobgen(*SBATCH, "--submit", *words, *PROGRAM, cwd=tmp_path, env=env)
    assert (done.returncode, done.stdout) == (0, b"12\n"), done.stderr
    (record,) = read_records((tmp_path / file).parent)
    assert record.job == "12"
    assert record.submitted
    assert record.script_file.read_bytes() == (tmp_path / "stdin").read_bytes()


@pytest.mark.parametrize("name", ["$NOT_SET_HERE/logs", "/proc/logs"])
def test_a_submission_that_cannot_be_recorded_is_one(
    commands: Commands, tmp_path: Path, name: str
) -> None:
    commands.add("sbatch", "cat > stdin; echo 12")
    words = ("--submit", "--log-dir", name, *PROGRAM)
    done = jobgen(*SBATCH, *words, cwd=tmp_path, env=commands.path)
    assert (done.returncode, done.stdout) == (0, b"12\n")
    assert b"jobgen: warning: the job has no record yet: " in done.stderr


def test_other_output_of_the_command_goes_to_stderr(commands: Commands) -> None:
    commands.add("sbatch", "cat > /dev/null; echo Welcome; echo '12;far'; echo Bye; echo own >&2")
    done = jobgen(*SBATCH, "--submit", cwd=commands.folder, env=commands.path)
    assert (done.returncode, done.stdout) == (0, b"12\n")
    lines = done.stderr.decode().splitlines()
    assert "jobgen: Welcome" in lines
    assert "jobgen: job 12 is on the cluster far; to cancel it: scancel -M far 12" in lines
    assert "own" in lines


@pytest.mark.parametrize(
    ("run", "exit_code"),
    [
        ("cat > /dev/null; exit 3", 3),
        ("exit 170", 170),
        ("kill -9 $$", 137),
        ("cat > /dev/null", 1),
    ],
)
def test_a_refusal_is_that_of_the_scheduler(commands: Commands, run: str, exit_code: int) -> None:
    commands.add("sbatch", f"echo 'sbatch: its words' >&2; {run}")
    env = f"X={'x' * 90000}"  # more than a pipe holds, for a command that does not read
    done = jobgen(*SBATCH, "-e", env, "--submit", cwd=commands.folder, env=commands.path)
    assert (done.returncode, done.stdout) == (exit_code, b"")
    first, *others = done.stderr.decode().splitlines()
    assert first == "sbatch: its words"
    no_id = "sbatch ended with 0 and printed no id: it is not known whether it took the script"
    assert others == ([f"jobgen: {no_id}"] if exit_code == 1 else [])


@pytest.mark.parametrize("option", ["--submit", "--wait"])
def test_without_the_scheduler_s_command_nothing_is_written(
    commands: Commands, tmp_path: Path, option: str
) -> None:
    only = {"PATH": str(commands.folder)}
    done = jobgen(*SBATCH, option, "-o", "job.sh", cwd=tmp_path, env=only)
    text = (
        "jobgen: --submit: `sbatch` does not run here: there is none on PATH; do this on a login"
        " node, or from here: jobgen sbatch … --host LOGIN [submit]\n"
    )
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", text)
    assert not (tmp_path / "job.sh").exists()
    (commands.folder / "sbatch").write_text("#!/no/such/shell\n")
    (commands.folder / "sbatch").chmod(0o755)
    done = jobgen(*SBATCH, option, env=only)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"jobgen: --submit: `sbatch` does not run here: No such file")


def test_nothing_is_submitted_when_its_file_cannot_be_written(
    commands: Commands, tmp_path: Path
) -> None:
    commands.add("sbatch", "touch ran; echo 12")
    for words in (("-o", "/dev/null/job.sh"), ("-o", "-")):
        done = jobgen(*SBATCH, "--submit", *words, cwd=tmp_path, env=commands.path)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.count(b"\n") == 1
    assert not (tmp_path / "ran").exists()


def test_a_missing_output_folder_is_mentioned(commands: Commands, tmp_path: Path) -> None:
    commands.add("sbatch", "cat > /dev/null; echo 12")
    words = (*SBATCH, "--submit", "--set", "request.output=logs/%j.out")
    done = jobgen(*words, cwd=tmp_path, env=commands.path)
    message = b"jobgen: the job's output goes to logs, or is lost: create that folder first, or use"
    assert (done.stdout, done.stderr) == (b"12\n", message + b" --mkdir\n")
    (tmp_path / "logs").mkdir()
    done = jobgen(*words, cwd=tmp_path, env=commands.path)
    assert (done.stdout, done.stderr) == (b"12\n", b"")


def test_an_id_that_cannot_be_written_is_on_stderr(commands: Commands) -> None:
    commands.add("sbatch", "cat > /dev/null; echo 12")
    with Path("/dev/full").open("wb") as full:
        done = jobgen(
            *SBATCH, "--submit", cwd=commands.folder, env=commands.path, stdout=full.fileno()
        )
    assert done.returncode == 2
    assert b"jobgen: the job is submitted: 12\n" in done.stderr


@pytest.mark.parametrize("words", [("local",), ("interactive", "--profile", "mi210")])
def test_other_commands_have_no_submit(words: tuple[str, ...]) -> None:
    assert b"No such option" in jobgen(*words, "--submit").stderr


def test_writing_a_script_imports_nothing_for_submission(tmp_path: Path) -> None:
    words = [*SBATCH, "-o", str(tmp_path / "job.sh")]
    run = f"from jobgen.cli.app import run_words; run_words({words})"
    code = f"import sys; {run}; print(*sys.modules)"
    output = subprocess.check_output([sys.executable, "-c", code], text=True)
    names = ("jobgen.submission", "subprocess")
    assert "jobgen.scripts.render" in output.split()
    assert [module for module in output.split() if module.startswith(names)] == []


# ---- --wait ----


def test_each_change_is_one_line(commands: Commands, wait: Wait) -> None:
    commands.add("sbatch", "cat > /dev/null; echo 12")
    restarted = {"restarts": "1"}
    commands.add_answers(
        "scontrol",
        scontrol("PENDING", reason="Priority"),
        scontrol("PENDING", reason="Resources"),
        *[scontrol("RUNNING")] * 30,
        scontrol("RUNNING", **restarted),
        scontrol("FAILED", "7:0", **restarted),
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


def test_a_job_of_an_array_that_slurm_has_forgotten_counts(commands: Commands, wait: Wait) -> None:
    """Slurm forgets each one MinJobAge after its end, so that the last answer lacks some."""
    commands.add("sbatch", "cat > /dev/null; echo 12")
    first, last = scontrol("FAILED", "3:0"), scontrol("RUNNING").replace("JobId=12", "JobId=13")
    commands.add_answers("scontrol", f"{first}\n{last}", last, last.replace("RUNNING", "COMPLETED"))
    assert wait(*SBATCH, "--wait")[0] == 3


def task(number: int, index: str, state: str, code: str = "0:0") -> str:
    """The answer of scontrol about one job of the array 12."""
    answer = scontrol(state, code, output=f"/jobs/x-12_{index.partition('-')[0]}.out")
    ids = f"JobId={number} ArrayJobId=12 ArrayTaskId={index} "
    return answer.replace("JobId=12 ", ids).replace("JobName=x", "JobName=JobId=7")


@pytest.mark.parametrize(
    ("event", "status", "output", "advice"),
    [
        ("job 2 is done: the program ended by itself, with 0", 0, "x-12_2.out", ""),
        (
            "job 1 stopped: the program failed by its own fault: NameError", 1, "x-12_1.out",
            "; jobgen why 12 says what failed",
        ),
        (
            "job 2 goes on: it failed with status 3", 3, "x-12_2.out",
            "; no job is left: submit the script again to go on",
        ),
    ],
)  # fmt: skip
def test_a_chain_ends_with_the_output_of_the_job_that_ended_it(
    commands: Commands, wait: Wait, event: str, status: int, output: str, advice: str
) -> None:
    """The others were cancelled, and have no output; Slurm has forgotten the first one."""
    commands.add("sbatch", "cat > /dev/null; echo 12")
    first, rest = task(13, "1", "FAILED", "3:0"), task(12, "3-5%1", "PENDING")
    commands.add_answers(
        "scontrol",
        "\n".join([rest, first, task(14, "2", "RUNNING")]),
        "\n".join([task(12, "3-5%1", "CANCELLED"), task(14, "2", "COMPLETED")]),
    )
    logs = Path("jobgen-logs")
    logs.mkdir()
    (logs / "chain-12").write_text(f"2026-11-27T20:58:09 {event}\n")
    exit_code, _, lines = wait("sbatch", "--profile", "dgx-a100", "--chain", "5", "--wait")
    assert exit_code == status
    assert lines[-2:] == [
        f"jobgen: job 12: 1 CANCELLED, 1 COMPLETED, 00:01:03; output: /jobs/{output}",
        f"jobgen: chain 12: {event}{advice}",
    ]


def test_a_chain_of_pbs_ends_likewise(commands: Commands, wait: Wait) -> None:
    commands.add("qsub", "cat > /dev/null; echo '12[].login'; exit 1")
    array = qstat("B").replace("x.o12", "x.o12.^array_index^")
    commands.add("qstat", f"cat <<'END'\n{array}\nEND", "echo 'Unknown Job Id 12' >&2; exit 153")
    Path("jobgen-logs").mkdir()
    Path("jobgen-logs/chain-12").write_text("2026-11-27T20:58:09 job 2 is done: with 0\n")
    exit_code, _, lines = wait("qsub", "--profile", "eap", "--chain", "5", "--wait")
    assert exit_code == 0
    assert lines[-2].endswith("/x.o12.2")
    assert lines[-1] == "jobgen: chain 12: job 2 is done: with 0"


def test_queries_that_fail_for_a_while_do_not_end_it(commands: Commands, wait: Wait) -> None:
    commands.add("sbatch", "cat > /dev/null; echo 12")
    fails = "echo 'slurm_load_jobs error: Socket timed out' >&2; exit 1"
    commands.add("scontrol", *[fails] * MOST_FAILURES, f"cat <<'END'\n{scontrol('COMPLETED')}\nEND")
    exit_code, _, lines = wait(*SBATCH)
    assert exit_code == 0
    assert lines == [
        "jobgen: job 12: the query failed, retrying: slurm_load_jobs error: Socket timed out",
        "jobgen: job 12: COMPLETED, 00:01:03; output: /home/a b/x-12.out",
    ]


@pytest.mark.parametrize(
    ("error", "times"), [("Invalid job id specified", 2), ("Socket timed out", MOST_FAILURES + 2)]
)
def test_a_job_that_the_scheduler_has_forgotten(
    commands: Commands, wait: Wait, error: str, times: int
) -> None:
    commands.add("sbatch", "cat > /dev/null; echo 12")
    running = f"cat <<'END'\n{scontrol('RUNNING')}\nEND"
    commands.add("scontrol", running, f"echo 'slurm_load_jobs error: {error}' >&2; exit 1")
    exit_code, _, lines = wait(*SBATCH)
    assert exit_code == 1
    note = f"its exit status is not known: slurm_load_jobs error: {error}"
    status = f"RUNNING when last seen ({note}), 00:01:03; output: /home/a b/x-12.out"
    assert lines[-1] == f"jobgen: job 12: {status}"
    assert (commands.folder / "scontrol.runs").read_text().count("\n") == times


def test_pbs_with_a_history(commands: Commands, wait: Wait) -> None:
    """The exit status of qsub says less: 3 for any job that qdel ended."""
    commands.add("qsub", 'echo "$@" > words; cat > /dev/null; echo 12.login; exit 3')
    finished = qstat("F", Exit_status="271")
    commands.add(
        "qstat",
        f"cat <<'END'\n{qstat('R')}\nEND",
        "echo 'qstat: 12.login Job has finished, use -x' >&2; exit 35",
        f"[[ $* == \"-x -f 12.login\" ]] && cat <<'END'\n{finished}\nEND",
    )
    exit_code, output, lines = wait(*QSUB)
    assert (exit_code, output) == (143, "12.login\n")
    assert lines[-1].startswith(
        "jobgen: job 12.login: FINISHED (signal 15), 00:00:11; output: /home"
    )
    assert Path("words").read_text() == "-W block=true\n"


def test_pbs_without_a_history(commands: Commands, wait: Wait) -> None:
    commands.add("qsub", "cat > /dev/null; echo 12.login; exit 7")
    forgotten = "echo 'qstat: Unknown Job Id 12.login' >&2; exit 153"
    commands.add("qstat", f"cat <<'END'\n{qstat('R')}\nEND", forgotten)
    exit_code, _, lines = wait(*QSUB)
    assert exit_code == 7
    assert lines[-1].startswith("jobgen: job 12.login: ENDED (exit status 7); output: /home/jobs")


def test_a_qsub_that_waits_blocks_signals(commands: Commands, wait: Wait) -> None:
    """It would delete the job."""
    commands.add("qsub", "cat > /dev/null; grep SigBlk /proc/$$/status > mask; echo 12.login")
    commands.add("qstat", "echo 'Unknown Job Id' >&2; exit 153")
    wait(*QSUB)
    mask = int(Path("mask").read_text().split()[1], 16)
    signals = (SIGHUP, SIGINT, SIGQUIT, SIGTERM)
    assert [number for number in signals if not mask >> (number - 1) & 1] == []


def test_a_terminal_shows_one_line(
    commands: Commands, wait: Wait, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "x.out"
    output.write_text("first\nstep 1\r\x1b[31mstep 2\x1b[0m\t界" + "é" * 99 + "\n\n")
    commands.add("sbatch", "cat > /dev/null; echo 12")
    commands.add_answers(
        "scontrol",
        scontrol("PENDING", reason="Resources"),
        scontrol("RUNNING", output=str(output)),
        scontrol("COMPLETED", output=str(output)),
    )
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 50, 0, 0))
    monkeypatch.setenv("TERM", "xterm")
    with open(slave, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        assert wait(*SBATCH)[0] == 0
    shown = b""
    with suppress(OSError):  # the end, on Linux
        while more := os.read(master, 65536):
            shown += more
    os.close(master)
    lines = re.findall("\r([^\r\n\x1b]+)\x1b\\[K", shown.decode())
    assert lines == [
        "job 12: PENDING (Resources)  ",
        "job 12: RUNNING, 00:01:03  step 2 界" + "é" * 13,
    ]
    last = f"\r\x1b[Kjobgen: job 12: COMPLETED, 00:01:03; output: {output}\r\n"
    assert shown.decode().endswith(last)


def test_text_for_a_terminal_is_as_wide_as_it_looks() -> None:
    assert shorten("ab界c", 4) == "ab界"
    assert shorten("ab界c", 3) == "ab"
    assert shorten("e\u0301e\u0301e", 2) == "e\u0301e\u0301"
    assert displayable("a\x1b[2Kb\x07\u202ec\té", "ascii") == "abc ?"


def test_missing_output_has_no_last_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "blank").write_text("\n \n")
    for name in ("nothing", "pipe", "blank", "."):
        assert last_line(str(tmp_path / name)) == ""
    assert last_line("a\0b") == ""


def test_the_end_of_a_failed_job_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "train-7.out"
    text = 'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n'
    text += "RuntimeError: no such sample\n"
    output.write_text("".join(f"nodeB rank 1: {line}\n" for line in text.splitlines()))
    report_cause(str(output))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("jobgen: rank 1 on nodeB failed first: RuntimeError: no such sample")
    assert f"{output}:3: " in lines[1]


def test_the_output_of_a_failed_job_may_be_on_another_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report_cause(str(tmp_path / "nothere"))
    assert capsys.readouterr().err == ""


def test_the_end_of_a_failed_job_without_a_known_cause_is_its_last_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "train-7.out"
    output.write_text(
        "usage: no config given\n\njobgen: the job failed, with status 2: see above\n"
    )
    report_cause(str(output))
    last = f"jobgen: no cause is known; the last line of {output}: usage: no config given\n"
    assert capsys.readouterr().err == last
