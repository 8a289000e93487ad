"""`jobgen runs`: the records of jobs, their states, what differs, and the same again."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from jobgen.errors import JobgenError
from jobgen.runs.records import Record, note_end, note_submission, read_records
from jobgen.runs.runs import Run, find_run, runs_of, shown_runs, state_among
from jobgen.runs.script_facts import ScriptFacts
from jobgen.submission.machine import HERE
from jobgen.submission.queues.own_jobs import running
from tests.helpers import jobgen

DGX = ("sbatch", "--profile", "dgx-a100", "-N", "2")
READY = (
    "jobgen: n1 is ready, 10.0.0.1 on ib0: torch 2.13.0+cu126 sees 2 GPUs, CUDA 12.6, NCCL 2.27.5,"
    " driver 560.35, 32 cores, 32 expected, memlock unlimited, open files 1024"
)
VERSIONS = "torch 2.13.0+cu126 sees 2 GPUs, CUDA 12.6, NCCL 2.27.5, driver 560.35"
PLAIN = ScriptFacts(scheduler="slurm", keeps_record=False)
SLURM = ScriptFacts(scheduler="slurm")


def write_record(folder: Path, job: str, script: bytes = b"", **values: Any) -> Path:
    """The record of a job, as its script writes it, and the copy of the script."""
    digits = hashlib.sha256(script).hexdigest() if script else ""
    (folder / "jobgen-logs/scripts").mkdir(parents=True, exist_ok=True)
    (folder / f"jobgen-logs/scripts/{digits}.sh").write_bytes(script)
    file = folder / f"jobgen-logs/{re.sub('[^A-Za-z0-9._-]', '_', job)}.json"
    values = {"job": file.stem, "script": digits, "begin": 1790000000, "logs": job, **values}
    file.write_text(json.dumps(values))
    return file


def made(*words: str, cwd: Path, **env: Any) -> bytes:
    done = jobgen(*words, cwd=cwd, env={name: str(value) for name, value in env.items()})
    assert done.returncode == 0, done.stderr
    return done.stdout


def runs(*words: str, cwd: Path, status: int = 0, **env: str) -> str:
    """What `jobgen runs` prints, where no scheduler is."""
    done = jobgen("runs", *words, cwd=cwd, env={"PATH": "/nowhere", **env})
    assert done.returncode == status, done.stderr
    return (done.stdout or done.stderr).decode()


TOOLS = {"PATH": "/usr/bin:/bin"}  # with `diff`, and with bash, which reads a copy of the code
QUEUE = {"1": False, "2": True, "12_3": False, "9": False}


@pytest.mark.parametrize(
    ("record", "facts", "state", "without_queue"),
    [
        (Record("1", "", submitted=5), SLURM, "queued", "submitted"),
        (Record("2", "", submitted=5), SLURM, "begins", "submitted"),
        (Record("3", "", submitted=5), SLURM, "never began", "submitted"),
        (Record("3", "", submitted=5), PLAIN, "submitted", "submitted"),
        (Record("2", "", submitted=5), PLAIN, "running", "submitted"),
        (Record("2", "", begin=5), SLURM, "running", "begun"),
        (Record("2.server", "", begin=5), SLURM, "running", "begun"),
        (Record("3", "", begin=5), SLURM, "ended without a word", "begun"),
        (Record("3", "", begin=5, end=6, status=0), SLURM, "ok", "ok"),
        (Record("3", "", begin=5, end=6, status=7), SLURM, "failed 7", "failed 7"),
        (
            Record("3", "", begin=5, end=6, status=143, outside="was ended from outside"),
            SLURM,
            "ended from outside",
            "ended from outside",
        ),
        (
            Record("1", "", begin=5, end=6, status=0, outside="goes back to the queue"),
            SLURM,
            "queued",
            "goes back to the queue",
        ),
        (Record("12_3", "", begin=5), SLURM, "queued", "begun"),
        (Record("2", "", begin=5, end=6, status=0), SLURM, "ok", "ok"),  # it is completing
    ],
)
def test_states(record: Record, facts: ScriptFacts, state: str, without_queue: str) -> None:
    assert Run(record, facts).state(QUEUE) == state
    assert Run(record, facts).state(None) == without_queue


def test_the_state_of_a_local_job() -> None:
    """Its number is that of its process."""
    here, local = os.uname().nodename, ScriptFacts(scheduler="local")
    mine = Record(str(os.getpid()), "", begin=5, nodes=here)
    assert Run(mine, local).state(None) == "running"
    assert Run(mine._replace(nodes="other"), local).state({}) == "ended without a word"
    assert Run(mine._replace(job="999999999"), local).state(None) == "ended without a word"


def test_an_array_is_shown_by_its_jobs() -> None:
    """As long as some of them wait, the array is shown, too."""
    jobs = [Record("12", "", submitted=5), Record("12_0", "", begin=6), Record("13", "")]
    every = [Run(each, SLURM) for each in jobs]
    assert [each.record.job for each in shown_runs(every, {})] == ["12_0", "13"]
    assert [each.record.job for each in shown_runs(every, {"12_0": True})] == ["12_0", "13"]
    assert [each.record.job for each in shown_runs(every, {"12": False})] == ["12", "12_0", "13"]
    of_pbs = [
        Run(Record("7[].s", "", submitted=5), SLURM),
        Run(Record("7[1].s", "", begin=6), SLURM),
    ]
    assert [each.record.job for each in shown_runs(of_pbs, {})] == ["7[1].s"]


def test_a_record_of_a_script(tmp_path: Path) -> None:
    write_record(tmp_path, "1234[3].server", ready=READY, nodes="n1 n2", logs="1234_3_.server")
    write_record(tmp_path, "12", logs="12.2", code={"name": "a", "of": {"commit": "c", "x": []}})
    records = {each.job: each for each in read_records(tmp_path / "jobgen-logs")}
    assert records["1234[3].server"].versions == VERSIONS
    assert records["1234[3].server"].restarts == 0
    assert records["1234[3].server"].job_folder == tmp_path / "jobgen-logs/1234_3_.server"
    assert records["12"].restarts == 2
    assert records["12"].code == {"name": "a", "commit": "c"}
    one = write_record(tmp_path, "13", ready="jobgen: n1 is ready: torch 2.13.0")
    assert {each.job: each.versions for each in read_records(one.parent)}["13"] == "torch 2.13.0"


def test_a_submission_is_noted_unless_the_job_has_begun(tmp_path: Path) -> None:
    logs = tmp_path / "a/logs"
    note_submission(logs, "12[].server", b"script")
    (record,) = read_records(logs)
    assert record.submitted
    assert abs(record.submitted - time.time()) < 100
    assert record.script_file.read_bytes() == b"script"
    assert sorted(each.name for each in logs.iterdir()) == ["12__.server.json", "scripts"]
    begun = logs / "13.json"
    begun.write_text('{"job": "13", "begin": 5}')
    note_submission(logs, "13", b"script")
    assert json.loads(begun.read_text()) == {"job": "13", "begin": 5}
    note_end(record, 3, "")
    assert [each.status for each in read_records(logs) if each.job == record.job] == [3]


def test_a_record_behind_a_link(tmp_path: Path) -> None:
    """A home, a file system or the folder of logs itself may be a link."""
    (tmp_path / "disk/logs").mkdir(parents=True)
    (tmp_path / "scratch").symlink_to("disk")
    (tmp_path / "jobgen-logs").symlink_to("disk/logs")
    for logs in (tmp_path / "scratch/new", tmp_path / "jobgen-logs"):
        note_submission(logs, "12", b"script")
        (record,) = read_records(logs)
        note_end(record, 3, "")
        assert [each.status for each in read_records(logs)] == [3]


def test_a_record_with_a_control_character(tmp_path: Path) -> None:
    (tmp_path / "12.json").write_text('{"job": "12", "ready": "jobgen: n1 is ready: torch\t2"}')
    (record,) = read_records(tmp_path)
    note_end(record, 3, "")
    assert [(each.status, each.versions) for each in read_records(tmp_path)] == [(3, "torch\t2")]


HOSTILE = (
    "",
    "{",
    "[]",
    "null",
    '{"job": 5}',
    '{"job": "a", "begin": 1e999, "end": NaN, "status": "0"}',
    '{"job": "b", "begin": [], "nodes": 5, "code": [], "logs": {}}',
    '{"job": "c", "script": "../../etc/passwd", "logs": "../../../etc", "status": 1, "end": 5}',
    '{"job": "\\u001b[2J\\u202e", "nodes": "\\u001b]0;x\\u0007", "status": 1, "logs": ".."}',
    '{"job": "d", "begin": 99999999999, "end": -99999999999, "status": 1e3}',
    '{"job": "e", "code": ' + "[" * 100_000,
    '{"job": "f", "code": {"name": {"x": 1}, "of": 5, "commit": "\\u001b[1m"}, "begin": 5}',
    '{"job": "g", "begin": ' + "9" * 5000 + "}",
    '{"job": "\\ud800", "outside": "\\u001b[2J", "status": 0}',
)


@pytest.mark.slow
def test_a_stranger_s_records_do_no_harm(tmp_path: Path) -> None:
    """No traceback, no control of the terminal, no file outside the folder, and an end."""
    logs = tmp_path / "jobgen-logs"
    logs.mkdir()
    for number, text in enumerate(HOSTILE):
        (logs / f"{number}.json").write_text(text)
    (logs / "binary.json").write_bytes(b'{"job": "\xff\x00"}')
    (logs / "folder.json").mkdir()
    (logs / "link.json").symlink_to("/dev/zero")
    os.mkfifo(logs / "pipe.json")
    for words in ((), ("--failed",), ("--json",), *(("show", job) for job in "abcdf")):
        done = jobgen("runs", *words, cwd=tmp_path, env={"PATH": "/nowhere"})
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"\x1b" not in done.stdout
        assert "\u202e" not in done.stdout.decode()
        assert b"/etc" not in done.stdout
    assert "not known of job a: its script came" in runs("diff", "a", "f", cwd=tmp_path, status=1)
    assert "pipe" in runs("again", "c", cwd=tmp_path, status=2)


@pytest.mark.parametrize("line", ["#SBATCH --output=", "workspace=", "  export VIRTUAL_ENV="])
def test_names_that_are_too_long_are_of_no_file(tmp_path: Path, line: str) -> None:
    name = "/environments/" + "x" * 300
    script = f"#!/bin/bash\n# Generated by jobgen. Again:\n#   jobgen \n{line}{name}\n".encode()
    write_record(tmp_path, "12", script, logs="x" * 300, end=1790000001, status=1)
    assert "failed 1" in runs(cwd=tmp_path)
    assert name in runs("show", "12", cwd=tmp_path) or "output" in line
    again = jobgen("runs", "again", "12", cwd=tmp_path)
    is_gone = "output" not in line
    assert (again.returncode, b"gone" in again.stderr) == (2 * is_gone, is_gone)
    assert "no such folder" in runs("show", "12", name, cwd=tmp_path, status=2)


def test_a_huge_record_is_none(tmp_path: Path) -> None:
    file = write_record(tmp_path, "12")
    with file.open("a") as stream:
        stream.write(" " * (1 << 21))
    assert len(read_records(file.parent)) == 0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two jobs that ran a copy of the code, and a third that failed."""
    (tmp_path / "train.py").write_text("print(1)\n")
    (tmp_path / "gone.py").write_text("")
    words = (*DGX, "--code", ".", "--", "train.py", "--lr")
    one = made(*words, "0.1", cwd=tmp_path)
    (tmp_path / "train.py").write_text("print('\x1b[2J')\n")
    (tmp_path / "gone.py").rename(tmp_path / "new.py")
    other = made(*words, "0.2", cwd=tmp_path)
    times = {"begin": 1790000000, "end": 1790090061, "status": 0}
    write_record(tmp_path, "12", one, nodes="n1 n2", ready=READY, **times)
    write_record(tmp_path, "13", other, nodes="n1 n3", ready=READY.replace("560", "570"), **times)
    write_record(tmp_path, "14", other, status=3, end=1790000005)
    (tmp_path / "jobgen-logs/14").mkdir()
    (tmp_path / "jobgen-logs/14/status").write_text("3 after 5 s \n")
    (tmp_path / "jobgen-logs/14/stderr").write_text("ModuleNotFoundError: No module named 'x'\n")
    return tmp_path


def test_a_list(folder: Path) -> None:
    lines = runs(cwd=folder, TZ="UTC").splitlines()
    assert [line.split() for line in lines] == [
        ["job", "name", "begin", "took", "nodes", "state", "cause"],
        ["12", "train", "2026-09-21", "14:13", "1-01:01:01", "2", "ok"],
        ["13", "train", "2026-09-21", "14:13", "1-01:01:01", "2", "ok"],
        ["14", "train", "2026-09-21", "14:13", "00:00:05", "failed", "3", "import"],
    ]
    assert runs("jobgen-logs", cwd=folder, TZ="UTC").splitlines() == lines
    assert runs("list", ".", cwd=folder, TZ="UTC").splitlines() == lines
    assert [x.split()[0] for x in runs("--failed", cwd=folder).splitlines()] == ["job", "14"]
    values = json.loads(runs("--json", cwd=folder))
    assert values[0]["versions"] == VERSIONS
    assert values[0]["profile"] == "dgx-a100"
    assert values[2]["cause"] == "import"


def test_a_new_user_sees_what_can_be_listed(tmp_path: Path) -> None:
    text = runs("--help", cwd=tmp_path)
    assert "jobgen runs [OPTIONS] [FOLDER] | COMMAND [ARGS]..." in text
    for word in ("FOLDER is the one", "--host HOST", "--failed", "--json", "again", "diff", "show"):
        assert word in text
    text = runs("show", "1", "--host", "a", cwd=tmp_path, status=2)
    assert "it is an option of sbatch, qsub, build, doctor, why, runs list, detect." in text


def test_nothing_to_list(tmp_path: Path) -> None:
    hint = "name another folder: of the submission, request.chdir or --log-dir"
    assert runs(cwd=tmp_path) == f"jobgen: no record of a job is in .; {hint}\n"
    text = runs("shw", cwd=tmp_path, status=2)
    assert text == "jobgen: shw: no such folder; did you mean `show`? [unreadable]\n"


@pytest.mark.parametrize(
    ("words", "job", "file"),
    [
        (("sbatch", "--profile", "mi210"), "12", "train-12.out"),
        (
            ("sbatch", "--profile", "mi210", "--array", "0-3", "--set", "request.output=%x-%A_%a"),
            "12_3",
            "train-12_3",
        ),
        (("sbatch", "--profile", "mi210", "--set", "request.output=%%x-%j.log"), "12", "%x-12.log"),
        (("qsub", "--profile", "eap"), "12.server", "train.o12"),
        (("qsub", "--profile", "eap", "--array", "0-3"), "12[3].server", "train.o12.3"),
        (("qsub", "--profile", "eap", "--set", "request.output=a b"), "12.server", "a b"),
    ],
)
def test_the_output_file_of_a_job(
    tmp_path: Path, words: tuple[str, ...], job: str, file: str
) -> None:
    write_record(tmp_path, job, made(*words, "-N", "2", "--", "train.py", cwd=tmp_path))
    assert "\noutput" not in runs("show", job, cwd=tmp_path)
    (tmp_path / file).touch()
    text = runs("show", job, cwd=tmp_path)
    assert re.search(rf"^output +{re.escape(str(tmp_path / file))}$", text, re.M), text


def test_two_jobs_are_shown_one_by_one(tmp_path: Path) -> None:
    text = runs("show", "3", "4", cwd=tmp_path, status=2)
    assert "4: no such folder; the last word is the folder of the records, and no other" in text


def test_one_job(folder: Path) -> None:
    text = runs("show", "12", cwd=folder)
    assert re.search(r"^state +ok$", text, re.M)
    assert re.search(rf"^versions +{re.escape(VERSIONS)}$", text, re.M)
    assert re.search(r"^profile +dgx-a100$", text, re.M)
    assert re.search(r"^command +jobgen sbatch --profile dgx-a100 -N 2 .*--lr 0.1$", text, re.M)
    assert "(gone)" not in text
    text = runs("show", "14", cwd=folder)
    assert re.search(r"^why +.*python3 lacks a module|^why +.*module", text, re.M)


def test_what_differs(folder: Path) -> None:
    text = runs("diff", "12", "13", cwd=folder, status=1, **TOOLS)
    names = [line.split()[1] for line in re.findall("code:\n(.*)\n(.*)\n", text)[0]]
    assert (
        text
        == f"""options:
- --lr 0.1
+ --lr 0.2
versions:
- driver 560.35
+ driver 570.35
nodes:
- n2
+ n3
code:
- {names[0]}
+ {names[1]}
Only in job 12: gone.py
Only in job 13: new.py
--- job 12/train.py
+++ job 13/train.py
@@ -1 +1 @@
-print(1)
+print('\\x1b[2J')
"""
    )
    assert runs("diff", "12", "12", cwd=folder) == ""


def test_code_that_is_gone_cannot_be_compared(folder: Path) -> None:
    _remove_code(folder)
    done = jobgen("runs", "diff", "12", "13", cwd=folder)
    assert b"the code cannot be compared: 12: its copy of the code is gone: " in done.stderr


def _remove_code(folder: Path) -> None:
    for each, _, _ in os.walk(folder / ".jobgen"):
        os.chmod(each, 0o700)
    shutil.rmtree(folder / ".jobgen")


def test_the_same_again_byte_for_byte(folder: Path) -> None:
    script = made("runs", "again", "12", cwd=folder)
    (record,) = [each for each in read_records(folder / "jobgen-logs") if each.job == "12"]
    assert script == record.script_file.read_bytes()
    assert hashlib.sha256(script).hexdigest() == record.script


@pytest.mark.parametrize("logs", ["jobgen-logs", "logs/x"])
def test_again_from_another_folder(tmp_path: Path, logs: str) -> None:
    """The script is the same, wherever the command runs, and says where it belongs."""
    (tmp_path / "train.py").write_text("")
    words = ("--log-dir", logs) if logs != "jobgen-logs" else ()
    script = made(*DGX, "--code", ".", *words, "--", "train.py", cwd=tmp_path)
    note_submission(tmp_path / logs, "12", script)
    other = tmp_path / "other"
    other.mkdir()
    for cwd in (tmp_path, other, tmp_path / logs):
        folder = os.path.relpath(tmp_path / logs, cwd)
        done = jobgen("runs", "again", "12", folder, cwd=cwd)
        assert (done.returncode, done.stdout) == (0, script)
        note = f"jobgen: submit it where it ran: … | (cd {tmp_path} && sbatch)\n"
        assert done.stderr.decode() == (note if cwd != tmp_path else "")


@pytest.mark.parametrize(
    ("words", "chdir", "command", "place"),
    [
        (("sbatch", "--profile", "dgx-a100"), "runs/a", "sbatch", "{0}"),
        (("sbatch", "--profile", "dgx-a100"), "{0}/runs/a", "sbatch", "{0}/runs/a"),
        (("local", "--profile", "local"), "runs/a", "bash", "{0}"),
        (("qsub", "--profile", "eap"), "{0}/runs/a", "qsub", "{0}/runs/a"),
    ],
)
def test_again_from_the_folder_of_the_submission(
    tmp_path: Path, words: tuple[str, ...], chdir: str, command: str, place: str
) -> None:
    """A working folder of the script is relative to it."""
    within = f"request.chdir={chdir.format(tmp_path)}"
    script = made(*words, "--set", within, "--", "python3", "x.py", cwd=tmp_path)
    note_submission(tmp_path / "runs/a/jobgen-logs", "12", script)
    done = jobgen("runs", "again", "12", "runs/a", cwd=tmp_path)
    where = place.format(tmp_path)
    note = f"jobgen: submit it where it ran: … | (cd {where} && {command})\n"
    assert done.stderr.decode() == (note if where != str(tmp_path) else "")


def test_the_copy_here_of_a_job_of_a_host(tmp_path: Path) -> None:
    """Wherever the store there is, what was sent is in the default store here."""
    (tmp_path / "train.py").write_text("")
    store = ("--set", "software.store=$SCRATCH/x")
    script = made(*DGX, "--code", ".", *store, "--", "train.py", cwd=tmp_path, SCRATCH=tmp_path)
    logs = tmp_path / "jobgen-logs/hosts/login1"
    note_submission(logs, "12", script)
    (run,) = runs_of(read_records(logs))
    assert (run.id, run.folder) == ("login1:12", tmp_path)
    name = run.facts.code.rpartition("/")[2]
    assert run.facts.code == f"$SCRATCH/x/code/{name}"
    assert run.place_of(run.code) == tmp_path / ".jobgen/store/code" / name


def test_what_is_gone_is_not_run_again(folder: Path) -> None:
    copy = next(folder.glob(".jobgen/store/code/*/gone.py"))
    copy.chmod(0o644)
    copy.write_text("changed\n")
    text = runs("again", "12", cwd=folder, status=2, **TOOLS)
    assert f"the copy of the code is not what was submitted, {copy.parent}: gone.py" in text
    assert "restore the files" in text
    _remove_code(folder)
    text = runs("again", "12", cwd=folder, status=2)
    assert f"jobgen: 12: its copy of the code is gone: {folder}/.jobgen/store/code/" in text
    (record,) = [each for each in read_records(folder / "jobgen-logs") if each.job == "13"]
    with record.script_file.open("a") as stream:
        stream.write("\n")
    assert "is not the script that it ran" in runs("again", "13", cwd=folder, status=2)
    record.script_file.unlink()
    assert f"the right one has the SHA-256 {record.script}" in runs(
        "again", "13", cwd=folder, status=2
    )


CHAIN = """\
2026-09-21T14:00:00 job 1 began on n1
2026-09-21T15:00:00 job 1 goes on: it was ended from outside, as at the walltime
2026-09-21T15:01:00 job 2 began on n1
2026-09-21T15:02:00 job 2 is done: the program ended with 93
"""


@pytest.mark.slow
@pytest.mark.parametrize("array", ["12", "12[].server"])
def test_a_chain(tmp_path: Path, array: str) -> None:
    """Its jobs that never had to begin are no news, and 93 is no failure."""
    script = made("sbatch", "-t", "1:00:00", "--chain", "5", *DGX[1:], "--", "true", cwd=tmp_path)
    logs, of_job = tmp_path / "jobgen-logs", "12_{}" if array == "12" else "12[{}].server"
    note_submission(logs, array, script)
    (logs / "chain-12.progress").touch()

    def states() -> dict[str, str]:
        found = json.loads(runs("--json", cwd=tmp_path))
        return {each["job"]: each["state"] for each in found}

    assert states() == {array: "submitted"}
    end = {"end": 1790000005, "outside": "was ended from outside"}
    write_record(tmp_path, of_job.format(1), script, status=143, **end)
    (logs / "chain-12").write_text(CHAIN[: CHAIN.index("2026-09-21T15:01")])
    assert states() == {of_job.format(1): "goes on"}
    assert re.search("^state +goes on$", runs("show", array, cwd=tmp_path), re.M)
    (logs / "chain-12").write_text(CHAIN + "2026-09-21T15:03:00 job 3 beg")
    write_record(tmp_path, of_job.format(2), script, status=93, end=1790000065)
    assert states() == {of_job.format(1): "goes on", of_job.format(2): "done"}
    assert "no job that did not end well" in runs("--failed", cwd=tmp_path)
    for job in ("12", array, of_job.format(2)):
        text = runs("show", job, cwd=tmp_path)
        assert re.search("^state +done$", text, re.M)
        assert re.search("^chain +job 2 is done: the program ended with 93$", text, re.M)
    text = runs("show", of_job.format(3), cwd=tmp_path, status=2)
    assert "it has not begun; of its chain, job 2 is done: the program ended with 93" in text


def test_an_array_has_the_states_of_its_jobs() -> None:
    jobs = [Record("12", "", submitted=5), Record("12_0", "", begin=6, status=0)]
    jobs += [Record(f"12_{n}", "", begin=6, status=3) for n in (1, 2)]
    array, first, *_ = every = [Run(each, SLURM) for each in jobs]
    assert state_among(array, every, {}) == "1 ok, 2 failed 3"
    assert state_among(array, every[:1], {"12": False}) == "queued"
    assert state_among(first, every, {}) == "ok"


def test_an_environment_that_is_gone(tmp_path: Path) -> None:
    script = made(*DGX, "--set", "software.venv=$PWD/environments/ab", cwd=tmp_path)
    write_record(tmp_path, "12", script)
    text = runs("again", "12", cwd=tmp_path, status=2)
    assert (
        f"its environment is gone: {tmp_path}/environments/ab; make it: jobgen store build" in text
    )
    (tmp_path / "environments/ab").mkdir(parents=True)
    assert made("runs", "again", "12", cwd=tmp_path) == script


@pytest.mark.parametrize(
    ("job", "found"),
    [("12", "12.a"), ("13_1", "13_1"), ("14", "two"), ("13", "array"), ("15[3]", "15[3].a")],
)
def test_how_a_person_names_a_job(tmp_path: Path, job: str, found: str) -> None:
    for name in ("12.a", "13_1", "13_2", "14.a", "14.b", "15[3].a"):
        write_record(tmp_path, name)
    every = runs_of(read_records(tmp_path / "jobgen-logs"))
    errors = {
        "two": "several jobs have this number; name one of them: 14.a, 14.b",
        "array": "this is an array; name one of them: 13_1, 13_2",
    }
    if found not in errors:
        assert find_run(every, job, tmp_path).record.job == found
        return
    with pytest.raises(JobgenError, match=errors[found]):
        find_run(every, job, tmp_path)


@pytest.mark.parametrize(
    ("command", "answer", "expected"),
    [
        (
            "squeue",
            "".join(
                f"{job} {state} 0:00 None n /x 2026-01-01T00:00:00\n".replace(" ", "\x1f")
                for job, state in (
                    ("12", "RUNNING"),
                    ("13_4", "PENDING"),
                    ("14", "COMPLETING"),
                    ("15", "FAILED"),
                )
            ),
            {"12": True, "13": False, "13_4": False, "14": True},
        ),
        (
            "qstat",
            "".join(
                f"Job Id: {job}.server\n    job_state = {state}\n"
                for job, state in (
                    ("12", "R"),
                    ("13[]", "B"),
                    ("13[4]", "Q"),
                    ("13[5]", "X"),
                    ("14", "F"),
                )
            ),
            {"12": True, "13[]": False, "13[4]": False},
        ),
    ],
)
def test_the_queue_is_asked_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    answer: str,
    expected: dict[str, bool],
) -> None:
    (tmp_path / "answer").write_text(answer)
    (tmp_path / command).write_text(
        f"#!/bin/sh\necho asked >> {tmp_path}/log\ncat {tmp_path}/answer\n"
    )
    (tmp_path / command).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    first = {"squeue": "squeue", "qstat": "qselect"}[command]
    monkeypatch.setattr("shutil.which", lambda name: name if name == first else None)
    if command == "qstat":
        (tmp_path / "qselect").write_text("#!/bin/sh\necho 12.server\n")
        (tmp_path / "qselect").chmod(0o755)
    assert running(HERE) == expected
    assert (tmp_path / "log").read_text() == "asked\n"
    (tmp_path / command).write_text("#!/bin/sh\nexit 1\n")
    assert running(HERE) is None
