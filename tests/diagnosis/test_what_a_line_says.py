"""A line is of its class, and what failed and the cure are said for this very line."""

from __future__ import annotations

from io import BytesIO

import pytest

from jobgen.diagnosis.engine import Source, diagnose
from jobgen.diagnosis.events import Verdict

ENDED = "\nsrun: error: n1: task 0: Exited with exit code 1"
PYXIS = "slurmstepd: error: pyxis: "
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total"


def verdict_on(text: str) -> Verdict:
    return diagnose([Source("a.log", BytesIO(text.encode()))])


LINES = {
    "batch-script": [
        (f"s.sh: line 3: ./run.sh: No such file or directory{ENDED}", "(sbatch --chdir)"),
        (f"s.sh: line 3: ./run.sh: Permission denied{ENDED}", "chmod +x"),
        (f"s.sh: line 3: ./a.out: cannot execute binary file: Exec format error{ENDED}", "uname"),
        (f"s.sh: line 4: cd: /p/run: No such file or directory{ENDED}", "mkdir -p"),
        ("s.sh: line 9: syntax error: unexpected end of file", "bash -n"),
        (f"s.sh: line 3: mytool: command not found{ENDED}", "./mytool"),
        (f"bash: mytool: command not found{ENDED}", "full path"),
        (f"cn0: bash: cn1: command not found{ENDED}", "pdsh -w"),
        (f"Could not find conda environment: torch2{ENDED}", "conda env list"),
    ],
    "cancelled": [
        ("torch.distributed.elastic.multiprocessing.api.SignalException: Process 7 got signal: 1",
         "setsid"),
        ("W1 api.py:739] Received Signals.SIGHUP death signal, shutting down workers", "setsid"),
        ("W1 api.py:739] Received Signals.SIGTERM death signal, shutting down workers", "sacct"),
    ],
    "checkpoint": [
        ("RuntimeError: [enforce fail at inline_container.cc:144] . PytorchStreamReader failed"
         " reading zip archive: failed finding central directory", "compare the sizes"),
        ("RuntimeError: PytorchStreamReader failed locating file constants.pkl: file not found",
         "torch.jit.load"),
        ("_pickle.UnpicklingError: invalid load key, '<'.", "web page"),
        ("EOFError: Ran out of input", "a cache"),
        ("OSError: Unable to synchronously open file (truncated file: eof = 96)", "h5ls"),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/p/step2/.metadata'",
         "dist_cp"),
        ("ValueError: No valid checkpoint found in output directory (out)", "checkpoint-N"),
        ("Traceback (most recent call last):\n"
         '  File "/p/checkpointing.py", line 5, in load\n'
         "    step = state_dict['iteration']\n"
         "KeyError: 'iteration'", "--no-load-optim"),
        ("ValueError: loaded state dict contains a parameter group that doesn't match the size of"
         " optimizer's group", "new optimizer"),
    ],
    "collective-timeout": [
        ("DeepEP dispatch NVL receiver timeout, channel: 6, RDMA: 0, nvl: 0", "DeepEP did not end"),
    ],
    "container-start": [
        (f"{PYXIS}    mkdir: cannot create directory '/run/enroot': Permission denied{ENDED}",
         "ENROOT_RUNTIME_PATH"),
        (f"{PYXIS}    /usr/bin/enroot: line 111: /usr/lib/enroot/common.sh: No such file or"
         f" directory{ENDED}", "enroot is not whole"),
        (f"{PYXIS}seccomp filter failed: Function not implemented{ENDED}", "user namespaces"),
        (f"{PYXIS}    enroot-switchroot: failed to execute: /bin/bash: No such file or directory",
         "--no-container-entrypoint"),
        (f"{PYXIS}    enroot-mount: failed to mount: /p/data at /data: No such file or directory",
         "--container-mounts"),
        (f"{PYXIS}    [ERROR] No such file or directory: /p/a.sqsh", "every node mounts"),
        (f"{PYXIS}couldn't get the job's step{ENDED}", "by hand"),
        (f"[ERROR] File already exists: a.sqsh{ENDED}", "enroot remove"),
        ("FATAL:   While checking container encryption: could not open image /p/python3: failed to"
         " retrieve path for /p/python3: lstat /p/python3: no such file or directory",
         "no image was given"),
        ("FATAL:   stat /p/x: no such file or directory", "--bind"),
        ("FATAL:   container creation failed: unable to create session directory", "sessions"),
        ("FATAL:   While making image from oci registry: no reply", "apptainer pull"),
        (f"Error: statfs /p/data: no such file or directory{ENDED}", "-v"),
        (f"Error: unable to copy from source docker://a/b:1{ENDED}", "podman save"),
        (f"Error: crun: setgroups: Operation not permitted{ENDED}", "/etc/subuid"),
        ("FAILED to find requested image", "shifterimg"),
        ("Warning  Failed  2m  kubelet  Error: ImagePullBackOff", "imagePullSecrets"),
    ],
    "crash": [
        ("s.sh: line 9:  4711 Illegal instruction (core dumped) python t.py", "newer CPU"),
        ("Fatal Python error: Illegal instruction", "newer CPU"),
    ],
    "desync": [
        ("RuntimeError: DDP expects same model across all ranks, but Rank 2 has 128 params, while"
         " rank 0 has inconsistent 0 params.", "ranks have different models"),
        ("a:1:2 [0] NCCL WARN NET/IB: collective mismatch error, local size 16 remote size 8",
         "16 and 8 bytes"),
    ],
    "device-assert": [
        ("/a/MultinomialKernel.cu:109: block: [0,0,0], thread: [0,0,0] Assertion `cumdist[size -"
         " 1] > static_cast<scalar_t>(0)` failed.", "bfloat16"),
        ("/a/Loss.cu:94: block: [0,0,0], thread: [1,0,0] Assertion `input_val >= zero &&"
         " input_val <= one` failed.", "BCEWithLogitsLoss"),
        ("/a/Loss.cu:250: block: [0,0,0], thread: [1,0,0] Assertion `t >= 0 && t < n_classes`"
         " failed.", "number of classes"),
        ("RuntimeError: CUDA error: an illegal memory access was encountered", "custom ones"),
    ],
    "disk-full": [
        ("OSError: [Errno 27] File too large: '/p/a.pt'", "ulimit -f"),
        (f"RuntimeError: write(): fd 29 failed with Disk quota exceeded{ENDED}", "quota"),
    ],
    "duplicate-gpu": [
        ("(W pid=9) Duplicate GPU detected : rank 7 and rank 5 both on CUDA device 10000",
         "max_colocate_count"),
    ],
    "extension-build": [
        (f"/o/gemm_test.h:6:10: fatal error: cuda_profiler_api.h: No such file or directory{ENDED}",
         "whole toolkit"),
        (f"aio.h:9:10: fatal error: libaio.h: No such file or directory{ENDED}", "libaio-dev"),
        (f"ninja: build stopped: subcommand failed.{ENDED}", "`error:`"),
        ("RuntimeError: Ninja is required to load C++ extensions", "pip install ninja"),
    ],
    "fabric": [
        ("a:1:2 [0] f:132 NCCL WARN NET/OFI Disabling shared memory failed: Protocol not"
         " available\na:1:2 [0] NCCL WARN Failed to initialize any NET plugin", "NCCL_NET_PLUGIN"),
        ("a:1:2 [0] NCCL WARN Failed to initialize any NET plugin", "NCCL_NET=Socket"),
        ("a:1:2 [0] NCCL WARN Error: network IBX not found.", "unset NCCL_NET"),
        ("a:1:2 [0] f:9 NCCL WARN NET/OFI Request 0x7f completed with error. RC: 21. Error: unknown"
         " error. Completed length: 0", "security group"),
        ("a:1:2 [0] f:9 NCCL WARN NET/OFI Couldn't open AV. RC: -22, ERROR: Invalid argument",
         "fewer ranks on an adapter"),
        ("OFI addrinfo() failed (ofi_init.c:1257:MPIDI_OFI_mpi_init_hook:No data available)",
         "'tcp;ofi_rxm'"),
        ("OFI poll failed (ofi_events.c:1077:MPIDI_OFI_handle_cq_error:Input/output error)",
         "lost a message"),
        (f"PSM could not set up shared memory segment (err=9){ENDED}", "one /dev/shm"),
        (f"[1] n1.329747hfi_userinit: assign_context command failed: Invalid argument{ENDED}",
         "PSM2_SHAREDCONTEXTS"),
        ("n1:pid5.a: Unable to create send CQ of size 5080 on mlx5_0: Cannot allocate memory\n"
         "n1:pid5: PSM3 can't open nic unit: 0 (err=23)", "ulimit -l"),
        ("[1] MPI startup(): ofi fabric is not available and fallback fabric is not enabled",
         "I_MPI_FALLBACK"),
        ("comm-ofi.c:2281: OFI error: fi_mr_reg(...): Invalid argument", "smaller heap"),
        ("/o/src/modules/transport/ibrc/ibrc.cpp:420: non-zero status: 22 ibv_modify_qp failed",
         "NVSHMEM_IB_GID_INDEX"),
        ("/o/src/host/init/init.cu:327: non-zero status: 7 bootstrap_init failed",
         "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME"),
        ("ibgda_rc_init2rtr failed on RC #216.", "NVSHMEM_REMOTE_TRANSPORT=ibrc"),
    ],
    "file-system": [
        ("RuntimeError: write(): fd 29 failed with Input/output error", "could not be written"),
        ("RuntimeError: File out/checkpoint_0.pt cannot be opened.", "os.makedirs"),
        ("RuntimeError: Parent directory out/a does not exist.", "os.makedirs"),
        ("RuntimeError: open(/p/store): No such file or directory", "env://"),
    ],
    "gpu-hardware": [("failed to get remapped rows for GPU-a: ERROR_GPU_IS_LOST", "--exclude")],
    "gpu-memory": [
        ("Callback: Queue 0x1 aborting with error : HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime"
         " failed. Code: 0x1008 Available Free mem : 44 MB", "44 MB were free"),
        (f"{OOM} capacity of 79.15 GiB of which 1.19 GiB is free. Process 17 has 38.10 GiB memory"
         " in use. Including non-PyTorch memory, this process has 39.80 GiB memory in use.",
         "another process holds"),
    ],
    "gpu-missing": [
        ("RuntimeError: Backend 'gpu' failed to initialize: FAILED_PRECONDITION: No visible GPU"
         " devices.", "--nv"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("code", "text", "words"),
    [(code, text, words) for code, rows in LINES.items() for text, words in rows],
)
def test_a_line_is_of_its_class(code: str, text: str, words: str) -> None:
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
    (f"bash: nvidia-smi: command not found{ENDED}", "batch-script", ""),
    (f"main.c:1:10: fatal error: no input files{ENDED}", "extension-build", ""),
    ("/a/Loss.cu:250: block: [0,0,0], thread: [1,0,0] Assertion `t >= 0 && t < n_classes` failed.",
     "", "BCE"),
    ("_pickle.UnpicklingError: invalid load key, '\\x0a'.", "", "web page"),
    ("RuntimeError: write(): fd 29 failed with No space left on device", "file-system", ""),
    ("a:1:2 [0] NCCL INFO NET/OFI Couldn't open the plugin, ok\nstep 1", "fabric", ""),
    ("FATAL:   could not open image /p/a.sif: image format not recognized", "", "no image was"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "words"), NEIGHBOURS)
def test_a_neighbour_is_not(text: str, code: str, words: str) -> None:
    verdict = verdict_on(text)
    assert not code or verdict.code != code, verdict
    assert not words or words not in f"{verdict.says}; {verdict.cure}", verdict


def test_no_number_of_a_gpu_is_named_where_none_is_seen() -> None:
    assert "GPU node" not in verdict_on("Fatal Python error: Segmentation fault").misleads
