"""The command `jobgen why`: what it prints, and its exit codes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from jobgen.cli.app import run_words
from jobgen.diagnosis.classes import classes, codes
from jobgen.diagnosis.nodes.many_jobs import as_table, jobs_in, verdicts_on
from jobgen.diagnosis.report import LINES, NOTHING
from tests.diagnosis.job_folders import lost, stderr_of, traceback, write_folder
from tests.helpers import jobgen

LOGS = Path(__file__).with_name("logs")
FAILED = {**lost(0, 1, 2), stderr_of(3): traceback(3, "ValueError: x")}

LOG = """\
step 1
nodeB rank 5: Traceback (most recent call last):
nodeB rank 5:   File "/home/u/train.py", line 8, in main
nodeB rank 5:     work()
nodeB rank 5: ValueError: bad label
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "slurm-812.out"
    path.write_text(LOG)
    return path


def test_why_names_node_and_rank_with_the_line(log: Path) -> None:
    result = jobgen("why", str(log))
    lines = result.stdout.decode().splitlines()
    assert result.returncode == 0
    assert lines[0].startswith("rank 5 on nodeB failed first: ValueError: bad label  [python-exc")
    assert lines[1] == f"  {log}:5: ValueError: bad label"
    assert lines[2] == "    in /home/u/train.py:8 in main"
    assert lines[3].startswith("cure: ")
    assert len(lines) <= LINES


def test_why_as_json(log: Path) -> None:
    value = json.loads(jobgen("why", "--format", "json", "--all", str(log)).stdout)
    assert (value["code"], value["node"], value["rank"]) == ("python-exception", "nodeB", 5)
    assert value["evidence"][0]["line"] == value["chain"][0]["line"] == 5


def test_why_all_shows_what_follows(log: Path) -> None:
    with log.open("a") as stream:
        stream.write("srun: error: nodeB: task 5: Exited with exit code 1\n")
    text = jobgen("why", "--all", str(log)).stdout.decode()
    assert f"  {log}:6: srun: error: nodeB: task 5: Exited with exit code 1" in text


def test_why_reads_stdin() -> None:
    words = [sys.executable, "-m", "jobgen", "why", "-"]
    result = subprocess.run(words, input=LOG.encode(), capture_output=True, check=False)
    assert b"  stdin:5: ValueError: bad label" in result.stdout


def test_why_finds_nothing_in_a_log_of_a_job_that_went_well(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("step 1\nall done\n")
    result = jobgen("why", str(tmp_path))
    assert (result.returncode, result.stdout.decode()) == (1, f"{NOTHING}\n")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "name a file, a folder, a job's number, or -"),
        (("no-such-file.log",), "no-such-file.log: no such file; name a file"),
        (("host-memry",), "did you mean `host-memory`?"),
        ((".",), "no logs are in this folder"),
        (("a\0b"[:1] + "/" * 3 + "x",), "no such file"),
        (("",), "why: an empty word names no file; is a variable such as"),
        (("GPU_MEMORY",), "did you mean `gpu-memory`?"),
        (("gpu-memory", "x.log"), "gpu-memory: no such file; a class stands alone: jobgen why gpu"),
        (("--host", "", "4711"), "--host: '' is not HOST[:FOLDER]"),
        (("--list", "x.log"), "--list: it reads no file; leave x.log out"),
        (("--line", "--report", "x.log"), "--report: --line is given, too"),
        (("--line", "--timeline", "x.log"), "--timeline: --line is given, too"),
        (("--line", "--format", "html", "x.log"), "--format: --line is given, too"),
        (("--report", "--all", "x.log"), "--all: --report is given, too"),
    ],
)
def test_why_explains_wrong_input(words: tuple[str, ...], text: str, tmp_path: Path) -> None:
    result = jobgen("why", *words, cwd=tmp_path, env={"PYTHONPATH": os.getcwd()})
    assert result.returncode == 2
    assert text in result.stderr.decode()
    assert result.stdout == b""


def test_why_reads_no_file_that_it_may_not(log: Path) -> None:
    log.chmod(0)
    result = jobgen("why", str(log))
    if os.geteuid():  # root may read all
        assert result.returncode == 2
        assert b"cannot be read: Permission denied" in result.stderr


def test_why_lists_the_classes() -> None:
    result = jobgen("why", "--list")
    assert [line.split()[0] for line in result.stdout.decode().splitlines()] == codes()


def test_why_explains_a_class() -> None:
    result = jobgen("why", "host-memory")
    assert result.returncode == 0
    assert result.stdout.startswith(b"host-memory: ")
    assert b"\nCure: " in result.stdout


def test_a_file_with_the_name_of_a_class_is_read(tmp_path: Path) -> None:
    (tmp_path / "killed").write_text(LOG)
    result = jobgen("why", "killed", cwd=tmp_path, env={"PYTHONPATH": os.getcwd()})
    assert b"killed:5: ValueError" in result.stdout


def test_why_of_a_job_that_nobody_knows(tmp_path: Path) -> None:
    result = jobgen("why", "812", cwd=tmp_path, env={"PATH": "", "PYTHONPATH": os.getcwd()})
    assert result.returncode == 2
    assert b"812: " in result.stderr


def test_the_command_is_imported_when_it_is_called() -> None:
    """Start-up time is a feature."""
    code = "import sys, jobgen.cli.app; print([m for m in sys.modules if 'diagnosis' in m])"
    words = [sys.executable, "-c", code]
    assert subprocess.run(words, capture_output=True, check=True).stdout == b"[]\n"


# ---- the folder of a job, and the last line ----


def test_why_reads_the_folder_of_a_job(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, FAILED)
    result = jobgen("why", str(folder))
    lines = result.stdout.decode().splitlines()
    assert result.returncode == 0
    assert lines[0].startswith(
        "rank 3 on nB failed first: ValueError: x  [python-exception, likely"
    )
    assert lines[1] == f"  {folder}/{stderr_of(3)}:4: ValueError: x"
    value = json.loads(jobgen("why", "--format", "json", str(folder)).stdout)
    assert (value["node"], value["rank"], value["node_notes"]) == ("nB", 3, [])


def test_a_folder_with_the_folder_of_one_job_is_read_as_this_job(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, FAILED)
    (folder.parent / "7.json").write_text("{}")
    own, above = (jobgen("why", str(each)).stdout for each in (folder, folder.parent))
    assert own == above != b""
    (folder.parent / "other.log").write_text("ValueError: of another job\n")
    assert b"other.log" in jobgen("why", "--all", str(folder.parent)).stdout


@pytest.mark.parametrize("word", ["7", "7.pbs-1", "7;big"])
def test_why_finds_the_folder_of_the_last_try_without_a_scheduler(
    word: str, tmp_path: Path
) -> None:
    write_folder(tmp_path, {})
    for name in ("7.2", "7.10", "71", "7.x/y"):
        other = write_folder(tmp_path / name, FAILED if name == "7.10" else {})
        (tmp_path / "jobgen-logs" / name).parent.mkdir(exist_ok=True)
        other.rename(tmp_path / "jobgen-logs" / name.partition("/")[0])
    where = {"PATH": "", "PYTHONPATH": os.getcwd()}
    result = jobgen("why", "--line", word, cwd=tmp_path, env=where)
    assert result.stdout.startswith(b"jobgen: rank 3 on nB failed first: ValueError: x: read")
    assert (result.returncode, result.stderr) == (0, b"")


def test_why_finds_the_folder_where_the_job_was_submitted(tmp_path: Path) -> None:
    """And reads the job's log, without the ranks' lines in it, and how Slurm says that it ended."""
    place = tmp_path / "work"
    write_folder(place, {**FAILED, "status": "143 after 311 s was ended from outside\n"})
    (place / "o.out").write_text("nA rank 0: KeyError: half\nsrun: error: nB: task 1: Killed\n")
    record = f"JobId=7 JobName=a\n   JobState=TIMEOUT Reason=TimeLimit\n   WorkDir={place}\n"
    record += f"   StdOut={place}/o.out\n"
    command = tmp_path / "bin" / "scontrol"
    command.parent.mkdir()
    command.write_text(f"#!/bin/bash\nprintf '%s' '{record}'\n")
    command.chmod(0o755)
    where = {"PATH": f"{command.parent}:/usr/bin:/bin", "PYTHONPATH": os.getcwd()}
    result = jobgen("why", "--line", "7", cwd=tmp_path, env=where)
    assert result.stdout.startswith(b"jobgen: the job was ended from outside: "), result.stdout
    assert b"time" in result.stdout
    assert result.stdout.count(b"\n") == 1


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (("{log}",), 0, b"jobgen: rank 5 on nodeB failed first: ValueError: bad label: read the"),
        (("{log}.gone",), 2, b"jobgen: no cause found: "),
        (("{empty}",), 2, b"jobgen: no cause found: "),
        ((), 2, b"jobgen: no cause found: why: no file"),
        (("12345678",), 2, b"jobgen: no cause found: 12345678: no scheduler knows this job"),
    ],
)
def test_why_writes_one_line_whatever_happens(
    words: tuple[str, ...], status: int, text: bytes, log: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    names = [word.format(log=log, empty=tmp_path / "empty") for word in words]
    result = jobgen("why", "--line", *names, cwd=tmp_path, env={"PYTHONPATH": os.getcwd()})
    assert result.stdout.startswith(text), result.stdout
    assert (result.returncode, result.stderr) == (status, b"")
    assert result.stdout.count(b"\n") == 1
    assert len(result.stdout.decode()) <= 301


def test_a_mistake_of_jobgen_itself_is_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from jobgen.cli.commands import why_command

    def broken(*words: object) -> None:
        raise RecursionError("so deep\nas that")

    monkeypatch.setattr(why_command, "verdict_on_words", broken)
    assert run_words(["why", "--line", str(tmp_path)]) == 2
    wanted = "jobgen: no cause found: jobgen why failed: RecursionError: so deep as that\n"
    assert capsys.readouterr().out == wanted


XID = """\
[  812.1] NVRM: Xid (PCI:0000:4e:00): 79, pid=2120, name=python3, GPU has fallen off the bus.
[rank5]: RuntimeError: CUDA error: uncorrectable ECC error encountered at /home/mary/net/train.py:8
[rank5]: the weights are in /scratch/mary/secret, as mary@example.org knows
"""


def test_the_mail_to_the_administrators_has_no_data_of_the_user(tmp_path: Path) -> None:
    path = tmp_path / "slurm-7.out"
    path.write_text(XID)
    result = jobgen("why", "--report", str(path))
    text = result.stdout.decode()
    assert result.returncode == 0
    assert "Class: gpu-hardware, " in text
    assert "NVRM: Xid (PCI:0000:4e:00): 79, pid=2120, name=…, GPU has fallen off the bus." in text
    assert "mary" not in text


def test_no_mail_is_written_for_what_the_user_can_mend(log: Path) -> None:
    result = jobgen("why", "--report", str(log))
    assert (result.returncode, result.stdout) == (1, b"")
    assert b"python-exception is no matter of the administrators" in result.stderr


def test_the_cure_is_in_the_words_of_the_scheduler_where_jobgen_did_not_make_the_script(
    tmp_path: Path,
) -> None:
    path = tmp_path / "slurm-7.out"
    path.write_text("slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some died.\n")
    assert "(sbatch --mem=SIZE" in jobgen("why", str(path)).stdout.decode()
    assert "; with jobgen: --set request.memory=all" in jobgen("why", str(path)).stdout.decode()
    path.write_text(f"jobgen: n1 is ready, 10.0.0.1 on ib0\n{path.read_text()}")
    assert "more memory (--set request.memory=all" in jobgen("why", str(path)).stdout.decode()


def test_a_folder_of_several_jobs_is_a_table(tmp_path: Path) -> None:
    xid = "[  8.1] NVRM: Xid (PCI:0000:4e:00): 79, pid=2, GPU has fallen off the bus.\n"
    for job in (9, 10):
        lines = [f"gpu08: {line}\n" for line in ("a 1", "b 2", "c 3", xid.strip())]
        (tmp_path / f"slurm-{job}.out").write_text("".join(lines))
    (tmp_path / "train.o11").write_text("step 1\ntraining completed\n")
    (tmp_path / "train.e11").write_text("a warning\n")
    result = jobgen("why", str(tmp_path))
    lines = result.stdout.decode().splitlines()
    assert result.returncode == 0
    assert lines[0].startswith(
        "3 jobs: 2 with a cause, 0 that failed without one, 1 without a fail"
    )
    assert lines[2].startswith("   2 gpu-hardware  A GPU or its link is broken")
    assert lines[2].endswith("  on gpu08 (2)")
    assert lines[4].startswith("leave out: gpu08 (sbatch --exclude=")
    assert [line.split()[0] for line in lines[5:]] == ["9", "10", "11"]
    value = json.loads(jobgen("why", "--format", "json", str(tmp_path)).stdout)
    assert value["leave_out"] == ["gpu08"]
    assert value["jobs"]["11"]["code"] is None


def test_a_folder_of_job_folders_is_a_table(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, FAILED)
    shutil.copytree(folder, folder.with_name("8"))
    lines = jobgen("why", str(folder.parent)).stdout.decode().splitlines()
    assert lines[2].split()[:2] == ["2", "python-exception"]
    assert lines[-1].startswith("8  rank 3 on nB failed first: ValueError: x")


@pytest.mark.parametrize("option", ["--all", "--report", "--timeline", "--line"])
def test_what_shows_one_job_is_refused_for_several(option: str, tmp_path: Path) -> None:
    for job in (9, 10):
        (tmp_path / f"slurm-{job}.out").write_text("ValueError: no\n")
    result = jobgen("why", option, str(tmp_path))
    assert result.returncode == 2
    text = (result.stdout if option == "--line" else result.stderr).decode()
    assert "it has the output of several jobs; name the output or the folder of one" in text


def test_a_table_has_the_jobs_that_cannot_be_read(tmp_path: Path) -> None:
    """Neither a file that is gone nor a link to another user's file ends the others."""
    (tmp_path / "slurm-9.out").write_text("step 1\n")
    (tmp_path / "slurm-10.out").write_text("step 1\n")
    (tmp_path / "slurm-11.out").symlink_to(__file__)
    jobs = {**jobs_in(str(tmp_path)), "12": [str(tmp_path / "slurm-12.out")]}
    assert [*jobs] == ["9", "10", "12"]
    first, *_, last = as_table(verdicts_on(jobs)).splitlines()
    assert first.endswith("2 without a failure, 1 not read")
    assert last.startswith("12  not read: ")
    assert "no such file" in last


def test_logs_of_perhaps_several_jobs_are_read_with_a_note(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    for name in ("a/train-1.out", "a/train-1.err", "a/train-2.out", "b/rank0.log", "b/rank1.log"):
        (tmp_path / name).write_text("step 1\n")
    text = "a: logs of 2 different names were read as those of one job; if they are of several, "
    assert text in jobgen("why", str(tmp_path / "a")).stderr.decode()
    assert jobgen("why", str(tmp_path / "b")).stderr == b""


def test_a_file_that_is_no_log_is_called_so(tmp_path: Path) -> None:
    empty, data = tmp_path / "empty.log", tmp_path / "data.bin"
    empty.touch()
    data.write_bytes(b"\0\1\2")
    result = jobgen("why", str(empty), str(data))
    assert result.stdout.decode() == f"{NOTHING}: {empty} is empty, {data} is no text\n"
    log = tmp_path / "a.log"
    log.write_text("step 1\n")
    assert jobgen("why", str(empty), str(log)).stdout.decode().startswith(f"{NOTHING}\nnote: ")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/dev/zero", "a device is no log"),
        ("/proc/self/mem", "cannot be read: Input/output error"),
    ],
)
def test_a_file_without_an_end_or_a_beginning_is_refused_by_its_name(path: str, text: str) -> None:
    result = jobgen("why", path)
    assert result.stderr.decode().startswith(f"jobgen: {path}: {text}")
    assert result.returncode == 2


def test_a_named_pipe_is_not_waited_for_but_a_shells_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.out")
    result = jobgen("why", "a.out", cwd=tmp_path)
    assert result.stderr.decode().startswith("jobgen: a.out: not a regular file; name a file, or -")
    assert result.returncode == 2
    command = f"{sys.executable} -m jobgen why <(echo 'ValueError: no data')"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "ValueError: no data" in done.stdout


def test_the_cure_is_the_one_of_the_nodes_line_and_the_page_has_words_for_it() -> None:
    found = jobgen("why", str(LOGS / "node-not-ready/no-program.log")).stdout.decode()
    assert "submit from its folder; if the file is in no folder, correct its name" in found
    page = jobgen("why", "node-not-ready").stdout.decode()
    assert "Cure: do what the end of the node's line says\n" in page
    assert not [code for code, each in classes().items() if "{" in each.cure_for_everybody]
