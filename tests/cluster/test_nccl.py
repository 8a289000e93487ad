"""What NCCL leaves of a job on a real Slurm: torch's dumps, and the answer of RAS to a hang.

The nodes have GPUs by their files alone: a stand-in for torch counts them, and the ranks write and
answer what torch and NCCL write and answer.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cluster.jobs import Desk
from tests.cluster.test_requests import COUNT
from tests.diagnosis.test_folder_nccl import MISSING_RANK, TABLE

ROOT = Path(__file__).parent.parent.parent
SITE = ("--profile", "dgx-a100", "-N", "2", "-G", "2", "--launcher", "srun")
# Rank 2 does not call the second all_reduce; the others reach its timeout.
DUMPS = """import glob, os, pickle, signal, sys, time
rank = int(os.environ["RANK"])
names = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
(begin,) = {os.environ[name] for name in names}  # torch reads one, or the other
calls = [
    {"record_id": number, "process_group": ("0", "default_pg"), "collective_seq_id": number,
     "profiling_name": "nccl:all_reduce", "time_created_ns": number * 10**9,
     "state": "completed" if number == 1 else "started", "retired": number == 1}
    for number in (1, 2) if (rank, number) != (2, 2)
]
group = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}}
with open(f"{begin}{rank}", "wb") as file:
    pickle.dump({"version": "2.10", "pg_config": group, "entries": calls}, file, protocol=2)
if rank != 2:
    print(f"[Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2, "
          "OpType=ALLREDUCE, NumelIn=1)", file=sys.stderr, flush=True)
open(f"dumped{rank}", "w").close()
while len(glob.glob("dumped?")) < 4:  # the first one that ends ends the others
    time.sleep(0.05)
os.kill(os.getpid(), signal.SIGABRT)
"""
# All hang in the same call, which tells nothing, and NCCL's thread in each process answers.
HANGS = f"""import os, socket, threading, time
def answer():
    host, port = os.environ["NCCL_RAS_ADDR"].split(":")
    server = socket.create_server((host, int(port)))
    while True:
        client = server.accept()[0]
        if client.recv(100).strip().lower() == b"verbose status":
            client.sendall({(TABLE + MISSING_RANK)!r}.encode())
        client.close()
if os.environ["RANK"] == "0":
    threading.Thread(target=answer, daemon=True).start()
print("began", flush=True)
time.sleep(3600)
"""


@pytest.fixture
def gpus(desk: Desk) -> Desk:
    (desk.folder / "torch.py").write_text(COUNT)
    return desk


def paths(desk: Desk) -> tuple[str, str]:
    """Where Python finds the stand-in, and the jobgen that gives the verdict."""
    return "-e", f"PYTHONPATH={desk.folder}:{ROOT}"


def test_the_dumps_of_a_job_are_where_the_verdict_finds_them(gpus: Desk) -> None:
    done = gpus.run(*SITE, *paths(gpus), "--", gpus.program("train.py", DUMPS))
    assert done.state == "FAILED", done.output
    last = done.output.splitlines()[-1]
    text = "rank 2 on dgx02 failed first: it did not join all_reduce (number 2 of default_pg)"
    assert last.startswith(f"jobgen: {text}"), done.output
    assert len(list(gpus.folder.glob("jobgen-logs/*/dgx0?/nccl-rank-[0-3]"))) == 4


@pytest.mark.thorough
def test_nccl_is_asked_before_a_job_that_hangs_is_ended(gpus: Desk) -> None:
    program = gpus.program("train.py", HANGS)
    done = gpus.run(*SITE, *paths(gpus), "--stall", "1", "--", program, timeout=300)
    assert done.state == "FAILED", done.output
    (answer,) = gpus.folder.glob("jobgen-logs/*/ras")
    assert answer.read_text() == TABLE + MISSING_RANK
    last = done.output.splitlines()[-1]
    assert "rank 3 on dgx02 does not answer NCCL: " in last, done.output


@pytest.mark.thorough
def test_the_roll_call_has_the_version_of_the_plug_in(gpus: Desk) -> None:
    (gpus.folder / "ofi").mkdir()
    text = b"\0NET/OFI Initializing aws-ofi-nccl 1.14.0\0"  # as src/nccl_ofi_net.cpp prints it
    (gpus.folder / "ofi/libnccl-net.so").write_bytes(text)
    program = gpus.program("train.py", "print('done', flush=True)\n")
    net = ("--set", "network.environment.NCCL_NET=AWS Libfabric")
    place = ("-e", f"LD_LIBRARY_PATH={gpus.folder}/ofi")
    done = gpus.run(*SITE, *net, *place, *paths(gpus), "--", program)
    assert done.state == "COMPLETED", done.output
    assert len(re.findall(" GPUs, aws-ofi-nccl 1.14.0, ", done.output)) == 2, done.output
