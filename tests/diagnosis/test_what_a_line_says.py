"""A line is of its class, and what failed and the cure are said for this very line."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path

import pytest

from jobgen.diagnosis.engine import Source, diagnose
from jobgen.diagnosis.events import Verdict
from jobgen.diagnosis.report import as_line

TEXT = Path(__file__).parent / "what_a_line_says.txt"
ENDED = "\nsrun: error: n1: task 0: Exited with exit code 1"
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total"


def verdict_on(text: str) -> Verdict:
    return diagnose([Source("a.log", BytesIO(text.encode()))])


def examples() -> list[tuple[str, str, str]]:
    """The class, the words and the lines of each example in the text, whose head explains it."""
    found, code = [], ""
    for part in re.split(r"\n(?=\S|    \S)", TEXT.read_text("utf-8").rstrip()):
        head, *text = part.split("\n")
        if head.startswith(" "):
            found.append((code, head.strip(), "\n".join(line[8:] for line in text)))
        else:
            code = head
    return found


@pytest.mark.parametrize(("code", "words", "text"), examples())
def test_a_line_is_of_its_class(code: str, words: str, text: str) -> None:
    verdict = verdict_on(text)
    assert verdict.code == code, verdict
    assert words in f"{verdict.says}; {verdict.cure}", verdict


NEIGHBOURS = [
    ("Installed CUDA version 12.4 does not match the version torch was compiled with 12.1 but since"
     " the APIs are compatible, accepting this combination", "extension-build", ""),
    (f"{OOM} capacity of 79.15 GiB of which 1.19 GiB is free. Process 17 has 412.00 MiB memory in"
     " use. Including non-PyTorch memory, this process has 77.10 GiB memory in use.", "",
     "another process"),
    ("HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed. Available Free mem : 64000 MB",
     "gpu-memory", ""),
    ("Traceback (most recent call last):\n"
     '  File "/p/a.py", line 5, in load\n'
     "    step = batch['iteration']\n"
     "KeyError: 'iteration'", "checkpoint", ""),
    ("FileNotFoundError: [Errno 2] No such file or directory: '/p/train.json'", "checkpoint", ""),
    ("FileNotFoundError: [Errno 2] No such file or directory: 'a/optimizer.y'", "checkpoint", ""),
    (f"n1: cat: /proc/7/fd: Input/output error{ENDED}", "file-system", ""),
    (f"test.c:1:10: error: 'x' undeclared{ENDED}", "extension-build", ""),
    (f"Terminated the search after 3 rounds{ENDED}", "cancelled", ""),
    (f"bash: nvidia-smi: command not found{ENDED}", "batch-script", ""),
    (f"main.c:1:10: fatal error: no input files{ENDED}", "extension-build", ""),
    ("Traceback (most recent call last):\n"
     '  File "/p/a.py", line 7, in find\n'
     "    _socket.gethostbyname(name)\n"
     "KeyError: 'hostname'", "host-name", ""),
    ("已完成", "killed", ""),
    ("ncclMemFree is a symbol of NCCL since 2.19", "library", ""),
    ("the MPI_Comm_rank() function was called before the first step", "mpi-start", ""),
    ("The node with node id 67f743d808b7 has been added", "node-lost", ""),
    ("HTTPConnectionPool is kept open", "offline", ""),
    ("/usr/bin/id: cannot find name for user ID 1202", "program-missing", ""),
    (f"A daemon (pid 5) was started{ENDED}", "launch-failed", ""),
    ("wandb: Run 403 was synced", "offline", ""),
    ("OMP: Info #15: bound to cores", "library", ""),
    ("the PBS: job killed: walltime line of the manual", "pbs-killed", ""),
    ("/a/Loss.cu:250: block: [0,0,0], thread: [1,0,0] Assertion `t >= 0 && t < n_classes` failed.",
     "", "BCE"),
    ("_pickle.UnpicklingError: invalid load key, '\\x0a'.", "", "web page"),
    ("RuntimeError: write(): fd 29 failed with No space left on device", "file-system", ""),
    ("a:1:2 [0] NCCL INFO NET/OFI Couldn't open the plugin, ok\nstep 1", "fabric", ""),
    (f"RuntimeError: Gloo connectFullMesh failed with [/b/pair.cc:5] timed out connecting{ENDED}",
     "peer-lost", ""),
    ("'LOCAL_RANK': 0,\nstep 1", "rendezvous", ""),
    ("[W socket.cpp:4] [c10d] The server socket has failed to bind to [::]:29411 (errno: 98 - A).\n"
     "[W socket.cpp:4] [c10d] The server socket has failed to bind to 0.0.0.0:29411 (errno: 98 - "
     "A).\nstep 1 loss 3.1\nstep 2 loss 2.9\nstep 3 loss 2.8", "port-in-use", ""),
    ("[W CUDAFunctions.cpp:9] Warning: CUDA initialization: The NVIDIA driver on your system is too"
     " old (found version 11040).\nstep 1 loss 3.1\nstep 2 loss 2.9\nstep 3 loss 2.8",
     "gpu-driver", ""),
    (f"Error: failed to run a.sh on n2, is localhost: False, exception: killed{ENDED}",
     "launch-failed", ""),
    ("Traceback (most recent call last):\n"
     '  File "/p/model.py", line 9, in forward\n'
     "    return x + mask\n"
     "RuntimeError: The size of tensor a (0) must match the size of tensor b (64) at non-singleton"
     " dimension 2", "", "split over the ranks"),
    (f"Traceback (most recent call last):\n  File \"/p/a.py\", line 9, in f\n    g()\n"
     f"RuntimeError:{ENDED}", "", "RuntimeError: srun"),
    ("FATAL:   could not open image /p/a.sif: image format not recognized", "", "no image was"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "words"), NEIGHBOURS)
def test_a_neighbour_is_not(text: str, code: str, words: str) -> None:
    verdict = verdict_on(text)
    assert not code or verdict.code != code, verdict
    assert not words or words not in f"{verdict.says}; {verdict.cure}", verdict


def test_no_number_of_a_gpu_is_named_where_none_is_seen() -> None:
    assert "GPU node" not in verdict_on("Fatal Python error: Segmentation fault").misleads


def test_a_rank_that_called_mpi_abort_is_seen() -> None:
    verdict = verdict_on("saving\napplication called MPI_Abort(MPI_COMM_WORLD, 0) - process 0\n")
    assert (verdict.code, verdict.rank) == (None, 0)
    assert "MPI_Abort" in verdict.says


@pytest.mark.parametrize(("place", "node"), [("executor.py:492", None), ("n7:4711", "n7")])
def test_a_file_of_source_is_no_node(place: str, node: str | None) -> None:
    assert verdict_on(f"[{place}] Local abort before MPI_INIT completed\n").node == node


def test_a_line_that_is_known_to_be_harmless_is_no_other_cause() -> None:
    harmless = "[W socket.cpp:207] [c10d] The hostname of the client socket cannot be retrieved."
    gloo = "RuntimeError: Gloo connectFullMesh failed with [/b/gloo/pair.cc:144] no error"
    assert not verdict_on(f"{harmless}\n{gloo}{ENDED}").notes
    assert verdict_on(f"the loader was killed by hand\n{gloo}{ENDED}").notes


def test_the_last_line_of_a_job_says_what_is_only_possible() -> None:
    gloo = "RuntimeError: Gloo connectFullMesh failed with [/b/gloo/pair.cc:144] no error"
    assert "reach all other ranks (possible): " in as_line(verdict_on(f"{gloo}{ENDED}"))
    assert "(possible)" not in as_line(verdict_on(f"torch.OutOfMemoryError: {OOM}{ENDED}"))
