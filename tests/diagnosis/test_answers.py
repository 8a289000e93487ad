"""`jobgen why` on what a person saved: answers of schedulers and NCCL, stacks, a node's notes."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobgen.bounds import ANSWER_BYTES
from jobgen.diagnosis.answers.scheduler import facts_in
from jobgen.diagnosis.engine import diagnose
from jobgen.diagnosis.events import Verdict
from jobgen.diagnosis.files import sources
from jobgen.diagnosis.job_folder.verdict import diagnose_folder
from tests.diagnosis.job_folders import ends, lost, write_folder
from tests.diagnosis.test_folder_nccl import INCOMPLETE, KINDS, MISMATCH, TABLE
from tests.diagnosis.test_job_files import QSTAT, SCONTROL

SACCT = """\
JobID           JobName  Partition    Account  AllocCPUS      State ExitCode{blank}
------------ ---------- ---------- ---------- ---------- ---------- --------{blank}
4711              train        gpu       lab1         32 {state:>10} {code:>8}{blank}
4711.batch        batch                  lab1         16 {state:>10} {code:>8}{blank}
4711.extern      extern                  lab1         32  COMPLETED      0:0{blank}
""".replace("{blank}", " ")
PARSABLE = """\
JobID|JobName|State|ExitCode|Start|End|NodeList|MaxRSS
4711|a|TIMEOUT|0:0|2026-11-22T20:00:00|2026-11-22T20:22:36|gx[07-08]|
4711.batch|batch|CANCELLED|0:15|2026-11-22T20:00:00|2026-11-22T20:22:36|gx07|9K
"""
ONE_LINE = (
    "JobId=12 JobName=a UserId=ada(1000) JobState=NODE_FAIL Reason=NodeDown Requeue=0"
    " ExitCode=0:0 StartTime=2026-03-01T10:00:00 EndTime=2026-03-01T10:02:01 NodeList=gx[1-2]\n"
)
RAS_HEAD = """\
NCCL version 2.28.9 compiled with CUDA 13.0
CUDA runtime version 13000, driver version 13000

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      2          2            1          4        4

"""
# py-spy 0.4, `py-spy dump --pid`.
WAITS = """\
Process 4242: /usr/bin/python -u train.py
Python v3.11.4 (/usr/bin/python3.11)

Thread 4242 (idle): "MainThread"
    all_reduce (torch/distributed/distributed_c10d.py:2501)
    wrapper (torch/distributed/c10d_logger.py:75)
    step (train.py:31)
    <module> (train.py:70)
"""
READS = """\
Process 4243: /usr/bin/python -u train.py
Python v3.11.4 (/usr/bin/python3.11)

Thread 4243 (active): "MainThread"
    read (data.py:17)
    <module> (train.py:70)
Thread 4260 (idle): "Thread-1"
    wait (threading.py:324)
"""
DMESG = """\
[Sun Nov 22 20:22:30 2026] python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0
[Sun Nov 22 20:22:30 2026] Memory cgroup out of memory: Killed process 9270 (python) total-vm:9kB
"""
JOURNAL = (
    "Nov 22 20:22:30 gx08 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=9270, name=python, GPU has"
    " fallen off the bus.\n"
)
REPORT = """\
gx08: Root Cause (first observed failure):
gx08: [0]:
gx08:   time      : 2026-11-22_20:22:36
gx08:   host      : gx08
gx08:   rank      : 5 (local_rank: 1)
gx08:   exitcode  : -9 (pid: 9270)
2026-11-22 20:22:40 srun: error: gx08: task 1: Exited with exit code 1
"""


def judged(top: Path, files: dict[str, str]) -> Verdict:
    """The verdict on files that are named by hand, in this order."""
    for name, text in files.items():
        (top / name).write_text(text)
    return diagnose(sources([str(top / name) for name in files]))


def cited(verdict: Verdict) -> list[str]:
    return [f"{Path(event.file).name}:{event.line}" for event in verdict.evidence]


@pytest.mark.parametrize(
    ("answer", "code", "place"),
    [
        (SACCT.format(state="OUT_OF_ME+", code="0:125"), "host-memory", 3),
        (SACCT.format(state="NODE_FAIL", code="0:0"), "node-lost", 3),
        (SACCT.format(state="TIMEOUT", code="0:0"), "scheduler-limit", 3),
        (SACCT.format(state="CANCELLED+", code="0:15"), "cancelled", 3),
        (PARSABLE, "scheduler-limit", 2),
        (PARSABLE.replace("\n", "|\n"), "scheduler-limit", 2),
        (SCONTROL.format(folder="/home/ada"), "scheduler-limit", 3),
        (ONE_LINE, "node-lost", 1),
        (f"\n{ONE_LINE}", "node-lost", 2),
        (QSTAT.format(index="", folder="/home/ada", join="n", output="o"), "pbs-killed", 13),
    ],
)
def test_saved_answers_of_schedulers_are_facts(
    tmp_path: Path, answer: str, code: str, place: int
) -> None:
    verdict = judged(tmp_path, {"answer.txt": answer})
    assert (verdict.code, verdict.evidence[0].line) == (code, place)


def test_a_job_that_ended_well_by_a_saved_answer_has_no_failure(tmp_path: Path) -> None:
    log = "step 1\nTraceback (most recent call last):\nValueError: x\n"
    answer = SACCT.format(state="COMPLETED", code="0:0")
    assert judged(tmp_path, {"a.out": log, "sacct.txt": answer}).code is None
    failed = SACCT.format(state="FAILED", code="1:0")
    verdict = judged(tmp_path, {"a.out": "step 1\n", "sacct.txt": failed})
    assert cited(verdict) == ["sacct.txt:3"]


@pytest.mark.parametrize(
    "text",
    [
        f"{ONE_LINE}ValueError: x\n",  # a job's script may print it at its beginning
        SACCT.format(state="TIMEOUT", code="0:0").replace("4711.extern", "4712       "),
        f"{SACCT}and then text",
        "JobID State\n",
        "Job Id: 7.pbs-a\nstep 1\n",
        "",
    ],
)
def test_other_text_makes_it_a_log(text: str) -> None:
    assert facts_in(BytesIO(text.encode())) is None


@given(st.sampled_from(["JobID State\n---- -----\n", "JobId=1 ", "Job Id: 1\n"]), st.binary())
def test_any_bytes_are_an_answer_or_a_log(head: str, rest: bytes) -> None:
    data = head.encode() + rest
    facts = facts_in(BytesIO(data))
    assert facts is None or facts.count(b"\n") <= len(data.splitlines())
    assert facts_in(BytesIO(data + b" " * ANSWER_BYTES)) is None


@pytest.mark.parametrize(
    ("answer", "rank", "says"),
    [
        (INCOMPLETE, 3, "it does not answer NCCL"),
        (MISMATCH, 2, "it has called 6649 times, and others 6650 times, as NCCL knows"),
        (KINDS, 1, "it has called AllReduce 0 times, and others 12 times, as NCCL knows"),
    ],
)
def test_a_saved_answer_of_nccl_names_a_rank(
    tmp_path: Path, answer: str, rank: int, says: str
) -> None:
    verdict = judged(tmp_path, {"ras.txt": RAS_HEAD + TABLE + answer})
    assert (verdict.code, verdict.rank, verdict.says) == ("stalled", rank, says)
    assert verdict.evidence[0].text in answer


def test_a_log_that_begins_like_an_answer_is_a_log(tmp_path: Path) -> None:
    log = "NCCL version 2.21.5+cuda12.4\nJob summary: 4 ranks\nrank 1: ValueError: x\n"
    trace = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\nValueError: x\n'
    assert judged(tmp_path, {"a.out": log + trace}).code == "python-exception"
    own = ONE_LINE.replace("NODE_FAIL", "RUNNING")  # what a script prints at its beginning
    assert cited(judged(tmp_path, {"a.out": own + trace})) == ["a.out:4"]


def test_dumps_of_py_spy_show_who_is_elsewhere_and_nccl_agrees(tmp_path: Path) -> None:
    stacks = {"py-spy-gx07-rank0.txt": WAITS, "py-spy-gx08-rank2.txt": READS}
    verdict = judged(tmp_path, stacks)
    assert (verdict.code, verdict.node, verdict.rank) == ("stalled", "gx08", 2)
    assert verdict.says.startswith("it is in data.py:17 read, while rank 0 is in all_reduce")
    verdict = judged(tmp_path, {**stacks, "ras.txt": RAS_HEAD + TABLE + MISMATCH})
    assert cited(verdict) == ["py-spy-gx08-rank2.txt:2", "ras.txt:24"]
    verdict = judged(tmp_path, {"1.txt": WAITS, "2.txt": READS})
    assert (verdict.code, verdict.rank, cited(verdict)) == ("stalled", None, ["2.txt:2"])


def test_the_command_that_py_spy_shows_may_have_no_path(tmp_path: Path) -> None:
    dumps = {"py-spy-gx07-rank0.txt": WAITS, "py-spy-gx08-rank2.txt": READS}
    stacks = {name: text.replace("/usr/bin/python -u", "python") for name, text in dumps.items()}
    assert judged(tmp_path, stacks).rank == 2
    quoted = {name: f"Process {name[-5]}: step 3\nPython v3.11.4\n" for name in dumps}
    assert judged(tmp_path, quoted).code is None


def test_notes_of_a_node_have_its_name_and_their_time(tmp_path: Path) -> None:
    verdict = judged(tmp_path, {"journal.txt": JOURNAL})
    assert (verdict.code, verdict.node) == ("gpu-hardware", "gx08")
    assert verdict.time == judged(tmp_path, {"dmesg-gx08.txt": DMESG}).time
    assert judged(tmp_path, {"dmesg-gx08.txt": DMESG}).node == "gx08"


def test_one_verdict_cites_a_line_of_each_file(tmp_path: Path) -> None:
    answer = SACCT.format(state="OUT_OF_ME+", code="0:125")
    files = {"job.out": REPORT, "sacct.txt": answer, "dmesg-gx08.txt": DMESG}
    verdict = judged(tmp_path, files)
    assert (verdict.code, verdict.node, verdict.rank) == ("host-memory", "gx08", 5)
    expected = ["dmesg-gx08.txt:2", "sacct.txt:3", "dmesg-gx08.txt:1", "job.out:6"]
    assert cited(verdict) == expected


def test_what_a_kernel_noted_days_before_is_no_cause(tmp_path: Path) -> None:
    old = DMESG.replace("Nov 22", "Nov 19")
    verdict = judged(tmp_path, {"job.out": REPORT, "dmesg-gx08.txt": old})
    assert (verdict.code, cited(verdict)) == ("killed", ["job.out:6"])
    verdict = judged(tmp_path, {"job.out": REPORT, "dmesg-gx08.txt": old + DMESG})
    assert (verdict.code, verdict.evidence[0].line) == ("host-memory", 4)


@pytest.mark.parametrize(
    "first",
    [
        "[Sun Nov  2 10:00:00 UTC 2025] Job started on gpu01",  # echo "[$(date)] Job started"
        "[Sun Nov  2 10:00:00 2025] Job started on gpu01",
        "gpu01 kernel: 6.8.0",
    ],
)
def test_a_log_whose_first_line_looks_like_a_kernels_is_a_log(first: str, tmp_path: Path) -> None:
    (tmp_path / "job.out").write_text(f"{first}\nstep 1\n")
    lines = (
        "2025-11-02 15:00:00 torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n"
    )
    (tmp_path / "job.err").write_text(
        f"{lines}srun: error: gpu01: task 0: Exited with exit code 1\n"
    )
    found = diagnose(sources([str(tmp_path / name) for name in ("job.out", "job.err")]))
    assert found.code == "gpu-memory"
    (tmp_path / "job.out").write_text(f"{first}\n{lines}")
    assert diagnose(sources([str(tmp_path / "job.out")])).code == "gpu-memory"


def test_the_verdict_on_a_folder_cites_each_kind_of_file(tmp_path: Path) -> None:
    evidence = "/proc/vmstat:oom_kill 10\n[1.0] oom-kill:constraint=X,task_memcg=/u/job_7/step_0\n"
    own = {"nB/oom_kill": "/proc/vmstat:oom_kill 9\n", "nB/evidence": evidence}
    folder = write_folder(tmp_path, {**lost(0, 1, 2), "stderr": ends(3, -9), **own})
    (tmp_path / "sacct.txt").write_text(SACCT.format(state="OUT_OF_ME+", code="0:125"))
    verdict = diagnose_folder(str(folder), sources([str(tmp_path / "sacct.txt")]))
    assert (verdict.code, verdict.node, verdict.rank) == ("host-memory", "nB", 3)
    assert cited(verdict) == ["sacct.txt:3", "evidence:2", "stderr:5"]


OOM = "slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0. Some were OOM Killed.\n"
KILLED = "srun: error: gx08: task 5: Out Of Memory\n"


def saved(tmp_path: Path, answer: str, log: str) -> Verdict:
    (tmp_path / "sacct.txt").write_text(answer)
    (tmp_path / "train.out").write_text(log)
    return diagnose(sources([str(tmp_path / name) for name in ("train.out", "sacct.txt")]))


@pytest.mark.parametrize("state", ["TIMEOUT", "COMPLETED"])
def test_an_answer_on_another_job_is_left_out_and_named(tmp_path: Path, state: str) -> None:
    verdict = saved(tmp_path, f"JobID|State\n9999|{state}\n", OOM)
    assert verdict.code == "host-memory"
    assert {Path(event.file).name for event in verdict.evidence} == {"train.out"}
    assert [note.endswith("sacct.txt is left out: it is on another job") for note in verdict.notes]
    same = saved(tmp_path, "JobID|State\n4711|TIMEOUT\n", OOM)
    unknown = saved(tmp_path, f"JobID|State\n9999|{state}\n", "step 1\n")
    assert not same.notes + unknown.notes


def test_a_lost_node_without_a_name_is_no_reason_where_the_memory_was_full(tmp_path: Path) -> None:
    lost_node = "JobID|State|ExitCode\n4711|NODE_FAIL|1:0\n"
    assert saved(tmp_path, lost_node, OOM).code == "host-memory"
    alone = saved(tmp_path, lost_node, "srun: error: gx08: task 5: Killed\n")
    assert (alone.code, alone.rank) == ("node-lost", None)


def test_a_job_that_completed_has_no_failure_unless_its_script_hides_a_status(
    tmp_path: Path,
) -> None:
    completed = "JobID|State|ExitCode\n4711|COMPLETED|0:0\n"
    assert saved(tmp_path, completed, OOM).code is None
    hidden = saved(tmp_path, completed, OOM + KILLED)
    assert hidden.code == "host-memory"
    assert "its script hides the status" in hidden.notes[0]
