"""`jobgen why` on the folder of a job: the node, the rank, the cause, in one line."""

from __future__ import annotations

import json
import os
from io import BytesIO
from pathlib import Path

import pytest

from jobgen.diagnosis.engine import Source
from jobgen.diagnosis.job_folder.verdict import diagnose_folder
from jobgen.diagnosis.report import as_line
from tests.diagnosis.job_folders import (
    CANCELLED,
    LOST,
    TORCHRUN,
    ends,
    judged,
    line_of,
    lost,
    place_of,
    stack,
    stderr_of,
    traceback,
    waiting,
    write_folder,
)
from tests.helpers import diagnose_text

REAL = Path(__file__).parent / "folders"
KILLS = "/proc/vmstat:oom_kill {}\n"
OF_JOB = "[1.0] oom-kill:constraint=CONSTRAINT_MEMCG,task_memcg=/slurm/uid_0/job_7/step_0,task=py\n"
DMESG = "[1.0] NVRM: Xid (PCI:0000:07:00): {}, pid=1, name=python\n"
KILLED = "rank 3 on nB failed first: killed by signal 9"
MEMORY = f"{KILLED}; on that node: out of memory (dmesg): ask for more memory"
PERHAPS = f"{KILLED}; on that node: memory ran out for this job or another (oom_kill +1): ask for"
VALUE = "rank 3 on nB failed first: ValueError: no such sample"
SHM_FULL = "tmpfs 65536 65536 0 100% /dev/shm\n"
ROOT_FULL = "/dev/sda1 61255492 61255492 0 100% /\n"
NODES = ("nA", "nB")
READY = "jobgen: nA is ready, 10.1.0.1 on ib0, torch 2.13.0\n"
MIXED = f"""{TORCHRUN} failed (exitcode: 7) local_rank: 1 (pid: 903) of binary: p
{TORCHRUN} failed (exitcode: 1) local_rank: 0 (pid: 900) of binary: p
Root Cause (first observed failure):
Root Cause (first observed failure):
[0]:
[0]:
  rank      : 3 (local_rank: 1)
  rank      : 0 (local_rank: 0)
  exitcode  : 7 (pid: 903)
  exitcode  : 1 (pid: 900)
"""
NO_SPACE = "OSError: [Errno 28] No space left on device"


def raised(rank: int = 3, error: str = "ValueError: no such sample") -> dict[str, str]:
    others = [each for each in range(4) if each != rank]
    return {**lost(*others), stderr_of(rank): traceback(rank, error), "stderr": ends(rank, 1)}


def ended(rank: int, status: int) -> dict[str, str]:
    others = [each for each in range(4) if each != rank]
    return {**lost(*others), "stderr": ends(0, 1) + ends(rank, status)}


def lacked_memory(text: str = "", host: str = "nB") -> dict[str, str]:
    """The kernel's counter before and after, and what else the node noted."""
    return {f"{host}/oom_kill": KILLS.format(9), f"{host}/evidence": KILLS.format(10) + text}


CASES = {  # what the script's own verdict named until version 1.0, and what it did not
    "a rank was killed": (ended(3, -9), f"{KILLED}: most often the node's memory: "),
    "for memory": ({**ended(3, -9), **lacked_memory(OF_JOB)}, MEMORY),
    "for memory, it seems": ({**ended(3, -9), **lacked_memory()}, PERHAPS),
    "another job lacked memory": ({**raised(), **lacked_memory()}, f"{VALUE}: read the traceback"),
    "this job lacked memory, too": (
        {**raised(), **lacked_memory(OF_JOB)},
        f"{VALUE}; on that node: out of memory (dmesg): read",
    ),
    "another node lacked memory": (
        {**ended(3, -9), **lacked_memory(OF_JOB, "nA")},
        f"{KILLED}: most",
    ),
    "the kernel names the process": (
        {**ended(3, -9), "nB/evidence": "[1] Out of memory: Killed process 903 (py)\n"},
        f"{KILLED}; on that node: memory ran out",
    ),
    "a full disk": (
        {**raised(error=NO_SPACE), "nB/evidence": ROOT_FULL},
        "rank 3 on nB failed first: No space left on device; on that node: / 100%: look at df",
    ),
    "a full disk on which nothing can be written": (
        {**ended(3, 1), "nB/evidence": ROOT_FULL},
        "rank 3 on nB failed first: it ended and wrote no reason; on that node: / 100%: look",
    ),
    "a full /dev/shm": (
        {**ended(3, -7), "nB/evidence": SHM_FULL},
        "rank 3 on nB failed first: ended by signal 7 (bus error); on that node: /dev/shm 100%:",
    ),
    "an exception": (raised(), f"{VALUE}: read the traceback"),
    "a module": (
        raised(error="ModuleNotFoundError: No module named 'nothere'"),
        "rank 3 on nB failed first: Python does not find the module nothere: activate",
    ),
    "the same of all": (
        {stderr_of(n): traceback(n, "ValueError: x") for n in range(4)},
        "rank 0 on nA, and others alike, failed first: ValueError: x: read",
    ),
    "the same of two": (
        {**lost(0, 2), **{stderr_of(n): traceback(n, "ValueError: x") for n in (1, 3)}},
        "rank 1 on nA, and others alike, failed first: ValueError: x: read",
    ),
    "a status": (
        ended(3, 7),
        "rank 3 on nB failed first: ended with status 7: read what that process",
    ),
    "status 1 without a word": (
        ended(3, 1),
        "rank 3 on nB failed first: ended with status 1, and wrote no exception: read",
    ),
    "too early, with 0": (
        {**lost(0, 1, 2), "stderr": ends(0, 1) + ends(2, 1)},
        "rank 3 on nB failed first: it ended early, with status 0, and the others lost it: ev",
    ),
    "abort": (ended(3, -6), "rank 3 on nB failed first: killed by signal 6: "),
    "a segmentation fault": (
        ended(3, -11),
        "rank 3 on nB failed first: crashed in compiled code (segmentation fault): ",
    ),
    "a report that was cut off": (
        {**lost(0, 1, 2), "stderr": f"{TORCHRUN} failed (exitcode: 5) local_rank: 1 (pid: 9) of\n"},
        "rank 3 on nB failed first: ended with status 5: ",
    ),
    "a launcher was killed": (
        {**lost(0, 1), "stderr": f"srun: error: nB: task 1: Killed\n{CANCELLED}"},
        "launcher on nB failed first: killed by signal 9: ",
    ),
    "a node that Slurm lost": (
        {**lost(0, 1), "stderr": f"srun: error: Node failure on nB\n{CANCELLED}"},
        "node nB failed first: the scheduler lost this node: Slurm requeues",
    ),
    "a keeper's word on torchrun": (
        {**lost(0, 1), "stderr": "jobgen: nB: torchrun ended with status 137 (its keeper)\n"},
        "launcher on nB failed first: killed by signal 9: ",
    ),
    "a keeper's word on a program's status": (
        {**lost(0, 1), "stderr": "jobgen: nB: torchrun ended with status 3\n"},
        "launcher on nB failed first: ended with status 3: ",
    ),
    "two reports mixed line by line": (
        {**lost(0, 1, 2), "stderr": MIXED},
        "rank 3 on nB failed first: ended with status 7: ",
    ),
    "a node that is not ready": (
        {"roll-call": f"{READY}jobgen: nB: no address on ib0: --set n\n"},
        "node nB failed first: no address on ib0: --set n",
    ),
    "nodes that are not ready": (
        {"roll-call": "".join(f"jobgen: {n}: port 29400 is used: --set p\n" for n in NODES)},
        "node nA, and others alike, failed first: port 29400 is used: --set p",
    ),
    "nothing, and the job ended well": (
        {**raised(), "status": "0\n"},
        "no cause found: the job ended with status 0",
    ),
    "a broken GPU": (
        {
            **raised(error="RuntimeError: CUDA error: unspecified launch failure"),
            "nB/evidence": DMESG.format(79),
        },
        "rank 3 on nB failed first: a GPU of this node is broken: Xid 79: submit again without",
    ),
    "a Xid from before the job": (
        {
            **raised(),
            "status": "1 after 300 s \n",
            "nB/evidence": "/proc/uptime:9000.11 70000.22\n"
            "[ 8000.123456] NVRM: Xid (PCI:0000:07:00): 79, pid=1, GPU has fallen off the bus.\n",
        },
        f"{VALUE}: read",
    ),
    "a Xid of the job, by its time": (
        {
            **raised(),
            "status": "1 after 300 s \n",
            "nB/evidence": "/proc/uptime:9000.11 70000.22\n"
            "[ 8800.123456] NVRM: Xid (PCI:0000:07:00): 79, pid=1, GPU has fallen off the bus.\n",
        },
        f"{VALUE}; on that node: Xid 79: read",
    ),
    "a Xid of a program": (
        {**raised(), "nB/evidence": DMESG.format(31)},
        f"{VALUE}; on that node: Xid 31: read",
    ),
    "a broken GPU of another node": (
        {**raised(), "nA/evidence": DMESG.format(79)},
        f"{VALUE}: read the traceback",
    ),
    "uncorrectable errors, and only waiting": (
        {
            **lost(0, 1, 2, 3),
            "nA/evidence": "index, ecc.errors.uncorrected.volatile.total\n0, 0\n1, [N/A]\n2, 3\n",
        },
        "node nA failed first: a GPU of this node is broken: uncorrectable ECC errors on GPU 2: ",
    ),
    "only consequences": (
        {**lost(0, 1, 2, 3), "stderr": ends(0, 1) + CANCELLED},
        "no cause found; the other ranks lost their connections to 10.1.0.2",
    ),
    "nothing": ({}, "no cause found: no rank says why it failed"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_failed_first(case: str, tmp_path: Path) -> None:
    files, words = CASES[case]
    line = line_of(tmp_path, files)
    assert line.startswith(words), line


LINES = {
    "exception": VALUE,
    "record": VALUE,
    "kill": KILLED,
    "status": "rank 3 on nB failed first: ended with status 7",
    "segv": "rank 3 on nB failed first: crashed in compiled code (Segmentation fault)",
    "abort": "rank 3 on nB failed first: killed by signal 6",
    "left": "rank 3 on nB failed first: it ended early, with status 0",
    "two": "rank 2 on nB, and others alike, failed first: ValueError: no such sample",
    "all": "rank 0 on nA, and others alike, failed first: ValueError: no such sample",
    "hung": "the ranks hung: rank 3 on nB in hung.py:8 waiting_for_data; ranks 0, 1, 2 in all_red",
    "child": "the ranks hung: rank 3 on nB in child.py:12 load; ranks 0, 1, 2 in all_reduce",
    "frozen": "the ranks hung: rank 3 on nB is frozen: it wrote no stack, while ranks 0, 1, 2 are",
    "lefthung": "the ranks hung: rank 3 on nB ended early, with status 0, while ranks 0, 1, 2 are",
}


@pytest.mark.parametrize("name", [path.name for path in sorted(REAL.iterdir())])
def test_what_two_real_torchruns_left(name: str) -> None:
    """torch 2.13 on CPUs, with --tee=3 and labels: the fault of rank 3, of 1 and 2, or of all."""
    verdict = diagnose_folder(str(REAL / name))
    line = as_line(verdict)
    assert verdict.everywhere == (name == "all")
    if name in ("two", "all"):  # which of them wrote first, only the files' times say
        assert ", and others alike, failed first: ValueError: no such sample" in line
    else:
        assert line.startswith(f"jobgen: {LINES[name]}"), line


# ---- whose lines they are ----


def test_the_ranks_own_lines_count_and_not_the_mixed_ones(tmp_path: Path) -> None:
    """In the job's stderr, halves of lines of two ranks are on one line."""
    mixed = "nA rank 0: [rank0]: Value" + "nB rank 3: [rank3]: ValueError: wrong\nError: half\n"
    files = {**raised(), "stderr": mixed + ends(3, 1)}
    assert line_of(tmp_path, files).startswith(VALUE)


def test_a_rank_is_known_by_its_node_s_labels(tmp_path: Path) -> None:
    plain = traceback(3, "ValueError: x").replace("[rank3]: ", "")
    files = {**{stderr_of(n): f"{LOST}\n" for n in range(3)}, stderr_of(3): plain}
    labels = "".join(f"nB rank {n}: began\nnA rank {n + 2}: began\n" for n in (0, 1))
    assert judged(tmp_path / "labels", files, labels=labels).rank == 1
    unknown = judged(tmp_path / "unknown", files, labels="")
    assert (unknown.node, unknown.rank) == ("nB", None)
    assert as_line(unknown).startswith("jobgen: local rank 1 on nB failed first: ValueError: x")


def test_the_scheduler_s_name_of_a_node_is_used(tmp_path: Path) -> None:
    files = {**lost(0, 1, 2), "stderr": ends(3, -9, host="nb.cluster.example")}
    assert line_of(tmp_path, files).startswith(KILLED)


def test_ranks_that_srun_or_mpiexec_started(tmp_path: Path) -> None:
    folder = tmp_path / "jobgen-logs" / "7"
    for rank, host in enumerate(("nA", "nA", "nB", "nB")):
        path = folder / host / f"rank-{rank}" / "stderr.log"
        path.parent.mkdir(parents=True)
        text = traceback(rank, "ValueError: x" if rank == 2 else LOST)
        path.write_text(text.replace(f"[rank{rank}]: ", ""))
    (folder / "stderr").write_text("srun: error: nB: task 2: Exited with exit code 1\n")
    line = as_line(diagnose_folder(str(folder)))
    assert line.startswith("jobgen: rank 2 on nB failed first: ValueError: x: ")
    for path in folder.glob("*/rank-*/stderr.log"):
        path.write_text("")
    (folder / "stderr").write_text("srun: error: nB: tasks 2-3: Segmentation fault\n")
    line = as_line(diagnose_folder(str(folder)))
    assert line.startswith("jobgen: "), line
    assert "on nB failed first: crashed in compiled code (Segmentation fault)" in line


def test_the_last_start_of_the_ranks_decides(tmp_path: Path) -> None:
    """Each agent counts its own starts; its lines of earlier ones are in the job's stderr."""
    old = {stderr_of(1): traceback(1, "KeyError: old"), **lost(0, 2, 3)}
    new = {stderr_of(n, 1): traceback(n, "ValueError: new" if n == 2 else LOST) for n in range(4)}
    early = f"{TORCHRUN} failed (exitcode: -9) local_rank: 1 (pid: 17) of binary: p\n"
    verdict = judged(tmp_path, {**old, **new, "stderr": early + ends(2, 1)})
    assert (verdict.rank, verdict.node, verdict.says) == (2, "nB", "ValueError: new")
    assert "old" not in as_line(verdict)
    assert verdict.attempt is None


def test_a_second_run_of_torchrun_on_a_node_replaces_the_first(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, raised(1, "KeyError: old"))
    for rank in range(4):
        path = folder / place_of(rank, run="7_b") / "stderr.log"
        path.parent.mkdir(parents=True)
        path.write_text(traceback(rank, "ValueError: new" if rank == 3 else LOST))
        os.utime(folder / stderr_of(rank), (1_000_000, 1_000_000))
    (folder / "stderr").write_text("")
    assert diagnose_folder(str(folder)).says == "ValueError: new"


# ---- torchrun's error files ----


def error_file(text: str, time: int) -> str:
    extra = {"py_callstack": text, "timestamp": str(time)}
    return json.dumps({"message": {"message": text.splitlines()[-1], "extraInfo": extra}})


def test_the_earliest_error_file_is_the_first_failure(tmp_path: Path) -> None:
    files = {**lost(0, 2)}
    for rank, time in ((1, 1_795_473_700), (3, 1_795_473_690)):
        files[stderr_of(rank)] = traceback(rank, "ValueError: x")
        files[f"{place_of(rank)}/error.json"] = error_file(traceback(rank, "ValueError: x"), time)
    verdict = judged(tmp_path, files)
    assert (verdict.node, verdict.rank) == ("nB", 3)
    assert verdict.time is not None


def test_an_error_file_speaks_for_a_rank_whose_stderr_is_lost(tmp_path: Path) -> None:
    text = traceback(3, "ValueError: no such sample").replace("[rank3]: ", "")
    files = {**lost(0, 1, 2), f"{place_of(3)}/error.json": error_file(text, 1_795_473_700)}
    assert line_of(tmp_path, files).startswith(VALUE)
    plain = json.dumps({"message": text})  # as torch writes it where the rank wrote none
    files[f"{place_of(3)}/error.json"] = plain
    assert line_of(tmp_path, files).startswith(VALUE)


# ---- hangs ----


def hang(*outside: int, **others: str) -> dict[str, str]:
    files = waiting(*(n for n in range(4) if n not in outside))
    for rank in outside:
        files[stderr_of(rank)] = stack("/home/me/data.py", 88, "load")
    return {**files, "orders/stacks-1": "", **others}


def test_the_rank_that_is_elsewhere(tmp_path: Path) -> None:
    line = line_of(tmp_path, hang(3))
    words = "the ranks hung: rank 3 on nB in data.py:88 load; ranks 0, 1, 2 in all_reduce"
    assert line.startswith(words), line


def frozen(note: str) -> dict[str, str]:
    files = {**hang(), **({"nB/keeper": note} if note else {}), stderr_of(3): ""}
    return {**files, "stderr": ends(0, -6) + ends(2, -6) + ends(3, -9)}


@pytest.mark.parametrize("note", ["jobgen: nB: rank 3 wrote no stack: it is frozen\n", ""])
def test_a_frozen_rank_is_the_one_without_a_stack(note: str, tmp_path: Path) -> None:
    """It ends by SIGKILL in the end, which is no failure of its own."""
    verdict = judged(tmp_path, frozen(note))
    assert (verdict.code, verdict.node, verdict.rank) == ("stalled", "nB", 3)
    assert verdict.certainty == ("sure" if note else "likely")
    line = line_of(tmp_path, frozen(note))
    assert line.startswith("the ranks hung: rank 3 on nB is frozen: it wrote no stack"), line
    assert "): look at the process on that node (ps, /proc/PID/stack, dmesg): a file" in line


def test_ranks_that_lost_an_aborted_one_are_not_frozen(tmp_path: Path) -> None:
    """On a busy machine some ranks end before their signal comes."""
    files = {**frozen("jobgen: nB: rank 3 wrote no stack: it is frozen\n"), **lost(1, 2)}
    assert judged(tmp_path, files).rank == 3


def test_a_rank_that_was_ending_already_is_not_where_the_others_wait(tmp_path: Path) -> None:
    """The first stack ends its rank; another one had lost it before its own signal came."""
    ending = stack("/usr/lib64/python3.11/weakref.py", 666, "_exitfunc").replace(
        '  File "/home/me/train.py", line 90 in main\n', ""
    )
    files = {**hang(3), stderr_of(2): traceback(2, LOST) + ending}
    line = line_of(tmp_path, files)
    assert line.startswith("the ranks hung: rank 3 on nB in data.py:88 load; ranks 0, 1 in"), line


def test_a_rank_that_ended_well_too_early(tmp_path: Path) -> None:
    files = {**hang(), stderr_of(3): "", "stderr": ends(0, -6) + ends(2, -6)}
    line = line_of(tmp_path, files)
    assert line.startswith("the ranks hung: rank 3 on nB ended early, with status 0, while"), line


def test_a_child_process_that_does_not_end_is_the_program_s_line(tmp_path: Path) -> None:
    text = stack("/usr/lib64/python3.11/subprocess.py", 2004, "_try_wait")
    inner = '  File "/home/me/train.py", line 90 in main\n'
    text = text.replace(inner, f'  File "/home/me/io.py", line 12 in fetch\n{inner}')
    line = line_of(tmp_path, {**hang(), stderr_of(3): text})
    assert line.startswith("the ranks hung: rank 3 on nB in io.py:12 fetch; ranks"), line


def test_all_in_the_same_collective_name_no_rank(tmp_path: Path) -> None:
    verdict = judged(tmp_path, hang())
    assert (verdict.code, verdict.node, verdict.rank) == ("stalled", None, None)
    assert line_of(tmp_path, hang()).startswith("the ranks hung: ranks 0, 1, 2, 3 are in all_red")


def test_a_hang_before_a_restart_does_not_count(tmp_path: Path) -> None:
    files = {**hang(3), **{stderr_of(n, 1): traceback(n, LOST) for n in (0, 1, 2)}}
    files[stderr_of(3, 1)] = traceback(3, "ValueError: no such sample")
    assert line_of(tmp_path, files).startswith(VALUE)


# ---- an end from outside ----

OUTSIDE = {
    "status": "143 after 311 s was ended from outside\n",
    "stderr": ends(3, -15) + ends(1, -9) + CANCELLED,
}


def test_an_end_from_outside_blames_no_rank(tmp_path: Path) -> None:
    verdict = judged(tmp_path, {**lost(0, 1, 2), **OUTSIDE})
    assert (verdict.code, verdict.node, verdict.rank) == ("cancelled", None, None)
    line = line_of(tmp_path, {**lost(0, 1, 2), **OUTSIDE})
    assert line.startswith("the job was ended from outside: "), line


def test_an_exception_beside_an_end_from_outside_is_a_note(tmp_path: Path) -> None:
    verdict = judged(tmp_path, {**raised(), **OUTSIDE})
    assert (verdict.code, verdict.rank) == ("cancelled", None)
    assert verdict.notes == ("rank 3 on nB wrote ValueError: no such sample",)


def test_a_lost_node_ends_a_job_from_outside(tmp_path: Path) -> None:
    files = {**OUTSIDE, "stderr": f"srun: error: Node failure on nB\n{CANCELLED}"}
    assert line_of(tmp_path, files).startswith("node nB failed first: the scheduler lost this")


# ---- the line, read again ----


@pytest.mark.parametrize(
    "name", ["kill", "segv", "exception", "hung", "frozen", "lefthung", "status", "abort"]
)
def test_a_log_whose_last_line_is_the_verdict_has_the_same(name: str) -> None:
    """A job's output may be all that somebody sends."""
    first = diagnose_folder(str(REAL / name if name != "exception" else REAL / "record"))
    again = diagnose_text(f"step 1\njobgen: the job failed with status 1\n{as_line(first)}")
    if first.code in ("python-exception", "launcher-report"):
        assert again.code is None  # the class of a status, or of an exception, is in its own lines
    else:
        assert (again.code, again.node, again.rank) == (first.code, "nB", 3)


def test_the_own_words_of_an_earlier_verdict_do_not_count(tmp_path: Path) -> None:
    wrong = b"jobgen: rank 0 on nA failed first: killed by signal 9: most often the node's memory\n"
    log = Source("job.out", BytesIO(wrong))
    verdict = diagnose_folder(str(write_folder(tmp_path, raised())), [log])
    assert (verdict.code, verdict.rank) == ("python-exception", 3)
