"""The last line of a failed job, by what its ranks, torchrun and srun wrote to stderr."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from jobgen.paths import bundled

EVIDENCE = bundled("templates") / "machinery" / "evidence"
LOST = "nA rank 0: [rank0]: RuntimeError: [pair.cc:553] Connection closed by peer [10.1.0.2]:70\n"
CANCELLED = "srun: error: nA: task 0: Terminated\nsrun: Force Terminated StepId=7.1\n"
TORCHRUN = "E1122 20:22:36.120000 58 torch/distributed/elastic/multiprocessing/api.py:1002]"
WORDS = "jobgen: nB: last words: /dev/shm 1%,/ 63%"


def report(host: str, rank: int, status: str) -> str:
    """How torchrun reports a rank that failed."""
    return (
        f"{host}:   rank      : {rank} (local_rank: 1)\n{host}:   exitcode  : {status} (pid: 95) \n"
    )


def bash(program: str, folder: Path, *prefix: str, **variables: str) -> str:
    sources = f". '{EVIDENCE}/first-failure.sh'; . '{EVIDENCE}/last-words.sh'; "
    sources += f". '{EVIDENCE}/hung-ranks.sh'; "
    done = subprocess.run(
        [*prefix, "bash", "-c", f"set -euo pipefail; {sources} logs='{folder}' host=nB; {program}"],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


KILLED = "rank 5 on nB failed first: killed by signal 9"
MEMORY = (
    "out of memory (oom_kill +1): ask for more with --set request.memory=SIZE, or use fewer workers"
)
OTHER = MEMORY.replace("out of memory", "memory ran out for this job or another")
DISK = "OSError: [Errno 28] No space left on device"
STDERR = {
    "a rank was killed": (LOST + report("nB", 5, "-9") + report("nA", 0, "1"), KILLED),
    "for memory": (
        report("nB", 5, "-9") + f"{WORDS},{MEMORY}\n",
        f"{KILLED}; on that node: {MEMORY}",
    ),
    "for memory, it seems": (
        report("nB", 5, "-9") + f"{WORDS},{OTHER}\n",
        f"{KILLED}; on that node: {OTHER}",
    ),
    "another job lacked memory": (
        f"nB rank 5: [rank5]: ValueError: no such sample\n{WORDS},{OTHER}\n",
        "rank 5 on nB failed first: ValueError: no such sample",
    ),
    "another node lacked memory": (
        report("nB", 5, "-9") + WORDS.replace("nB", "nC") + f",{MEMORY}\n",
        KILLED,
    ),
    "a full disk": (
        f"nB rank 5: {DISK}\n" + WORDS.replace("63", "100"),
        f"rank 5 on nB failed first: {DISK}; on that node: / 100%",
    ),
    "an exception": (
        LOST + "nB rank 5: [rank5]: ValueError: no such sample\n" + report("nA", 0, "1"),
        "rank 5 on nB failed first: ValueError: no such sample",
    ),
    "the same one twice": (
        "nB rank 5: ValueError: x\nnB rank 5: ValueError: x\n",
        "rank 5 on nB failed first: ValueError: x",
    ),
    "the same of all": (
        "nA rank 0: ModuleNotFoundError: x\nnB rank 5: ModuleNotFoundError: x\n",
        "rank 0 on nA, and others alike, failed first: ModuleNotFoundError: x",
    ),
    "a status": (
        LOST + f"nB: {TORCHRUN} failed (exitcode: 3) local_rank: 1 (pid: 9) of binary: python3\n"
        + report("nA", 0, "1") + report("nA", 1, "-15") + report("nB", 5, "3"),
        "rank 5 on nB failed first: ended with status 3",
    ),
    "a report that was cut off": (
        LOST + f"nB: {TORCHRUN} failed (exitcode: -6) local_rank: 1 (pid: 9) of binary: python3\n"
        + CANCELLED,
        "local rank 1 on nB failed first: killed by signal 6",
    ),
    "a launcher was killed": (
        LOST + report("nA", 0, "1") + "srun: error: nB: task 1: Killed\n" + CANCELLED,
        "launcher on nB failed first: killed by signal 9",
    ),
    "a rank of mpiexec": (
        "jobgen: nB: rank 5 ended with status -9\n",
        KILLED,
    ),
    "a node that Slurm lost": (
        LOST + report("nA", 0, "1") + "srun: error: Node failure on nB\n" + CANCELLED,
        "node nB failed first: it no longer answers",
    ),
    "only consequences": (LOST + report("nA", 0, "1") + report("nA", 1, "-15") + CANCELLED, ""),
    "nothing": ("", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", STDERR)
def test_what_failed_first(case: str, tmp_path: Path) -> None:
    text, verdict = STDERR[case]
    (tmp_path / "stderr").write_text(text)
    assert bash("first_failure || true", tmp_path).strip() == verdict


@pytest.mark.parametrize("end", ["Killed", "Exited with exit code 3", "Segmentation fault"])
def test_what_failed_first_of_srun_s_own_ranks(end: str, tmp_path: Path) -> None:
    (tmp_path / "stderr").write_text(f"srun: error: nB: tasks 4-5: {end}\n{CANCELLED}")
    words = {"Killed": "killed by signal 9", "Exited with exit code 3": "ended with status 3"}
    verdict = f"rank 4 on nB failed first: {words.get(end, end)}"
    assert bash("ranks_per_node=2; first_failure", tmp_path).strip() == verdict


def stack(host: str, rank: int, file: str, line: int, name: str) -> str:
    label = f"{host} rank {rank}: "
    lines = (
        "Fatal Python error: Aborted",
        "",
        "Current thread 0x00007f05 (most recent call first):",
        f'  File "{file}", line {line} in {name}',
        '  File "/home/me/train.py", line 90 in main',
        "",
    )
    return "".join(f"{label}{each}\n" for each in lines)


def test_where_ranks_hung(tmp_path: Path) -> None:
    torch = "/opt/venv/torch/distributed/distributed_c10d.py"
    waiting = "".join(stack("nA", rank, torch, 2900, "all_reduce") for rank in range(4))
    (tmp_path / "stderr").write_text(waiting + stack("nB", 5, "/home/me/data.py", 88, "load"))
    assert bash("hung_ranks", tmp_path) == ""  # a crash: nobody has ended the ranks
    (tmp_path / "hung").touch()
    wanted = "the ranks hung: rank 5 on nB in data.py:88 load; 4 ranks in all_reduce\n"
    assert bash("hung_ranks", tmp_path) == wanted
    os.utime(tmp_path / "hung", (time.time() - 900,) * 2)
    assert bash("hung_ranks", tmp_path) == ""  # they have started again since, and failed
    (tmp_path / "hung").touch()
    (tmp_path / "stderr").write_text(LOST)
    assert bash("hung_ranks", tmp_path) == ""


TOOLS = {  # a GPU with two errors that ECC did not mend, and one that has left the bus
    "nvidia-smi": "#!/bin/sh\nprintf '0\\n[N/A]\\n3\\n'\n",
    "dmesg": "#!/bin/sh\necho '[1.0] NVRM: Xid (PCI:0000:07:00): 79, pid=1'\n",
}


def test_last_words(tmp_path: Path) -> None:
    """What can be read, and no error where a tool is absent or knows nothing."""
    count = tmp_path / "nB" / "oom_kill"
    count.parent.mkdir()
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in TOOLS.items():
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    assert "oom_kill" not in bash(f"killed_for_memory > '{count}'; last_words", tmp_path)
    path, _, kills = count.read_text().splitlines()[-1].partition(" ")
    assert path == "/proc/vmstat:oom_kill"
    count.write_text(f"{path} {int(kills) - 1}\n")
    found = bash("last_words", tmp_path, PATH=f"{tools}:{os.environ['PATH']}").strip()
    assert found.startswith("jobgen: nB: last words: /dev/shm ")
    assert found.endswith(f"%,uncorrectable ECC errors on GPU 2,Xid 79,{OTHER}")


CGROUPS = next(  # of version 2
    (path for path in map(Path, ("/sys/fs/cgroup/unified", "/sys/fs/cgroup"))
     if os.access(path / "cgroup.procs", os.W_OK)), None,
)  # fmt: skip


@pytest.mark.skipif(
    not CGROUPS or os.geteuid() != 0, reason="no cgroups of version 2 that root can make"
)
@pytest.mark.parametrize(("kills", "words"), [(2, ""), (3, f",{MEMORY}")])
def test_the_count_of_the_job_says_whose_memory_ran_out(
    kills: int, words: str, tmp_path: Path
) -> None:
    """The shell is in a step of Slurm, and the count in the job's folder above it."""
    (tmp_path / "nB").mkdir()
    assert CGROUPS
    group = f"jobgen-test-{os.getpid()}/job_7"
    events = tmp_path / "cgroups" / group / "memory.events"
    events.parent.mkdir(parents=True)
    events.write_text("oom 9\noom_kill 2\noom_group_kill 0\n")
    step = CGROUPS / group / "step_0" / "user"
    program = f"""
        mkdir -p '{step}'; echo "$$" > '{step}/cgroup.procs'
        mount --bind '{tmp_path}/cgroups' /sys/fs/cgroup
        killed_for_memory > "$logs/nB/oom_kill"
        sed -i 's/oom_kill 2/oom_kill {kills}/' '{events}'
        last_words"""
    try:
        found = bash(program, tmp_path, "unshare", "--mount")
    finally:
        for folder in (step, step.parent, step.parent.parent, step.parent.parent.parent):
            folder.rmdir()
    assert found.endswith(f"%{words}\n")


def test_a_folder_that_cannot_be_written_ends_the_job_with_a_cure(tmp_path: Path) -> None:
    part = EVIDENCE / "make-log-folder.sh"
    program = f'fail() {{ echo "$*"; }}; logs=/proc/none; . {part} 2> /dev/null'
    wanted = "cannot write to /proc/none: choose another --log-dir, or --no-labels\n"
    assert bash(program, tmp_path) == wanted
