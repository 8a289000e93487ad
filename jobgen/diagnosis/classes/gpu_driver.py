"""The driver of a node, or the architecture of its GPU, does not fit torch.

torch was built for a newer CUDA than the node's driver knows, or not for the GPU's architecture;
or the driver does not run: it was updated without a reboot, or the fabric manager of an NVSwitch
machine is down. On several nodes this happens on those alone that differ.

One sees at the first CUDA call `The NVIDIA driver on your system is too old`, `no kernel image
is available for execution on the device`, `system not yet initialized`, `Driver/library version
mismatch`, on ROCm `hipErrorNoBinaryForGpu` or `invalid device function`.

What misleads: the exception comes from any first use of a GPU; NCCL then says `unhandled cuda
error`.

Cure: a torch (a wheel's +cu… or +rocm…, an image) that fits: `nvidia-smi` shows the newest CUDA
that the driver knows; a wheel's architectures are in `torch.cuda.get_arch_list()`. A node whose
driver does not run: leave it out (`--set request.exclude=NODE`), and tell the administrators.

Sources:
https://docs.nvidia.com/deploy/cuda-compatibility/
https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
https://github.com/pytorch/pytorch torch/csrc/cuda/Module.cpp, torch/cuda/__init__.py
https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/debugging.html
"""

from jobgen.diagnosis.signs import Role, Sign

_RAISED = r"(?:^|[\])|] )(\w+\.)*\w*(Error|Exception): .*"
SIGNS = (
    Sign(
        r"^(RuntimeError: )?The NVIDIA driver on your system is too old "
        r"\(found version (?P<version>\d+)\)",
        "the NVIDIA driver (CUDA {version}) is too old for this torch",
        needs_failure=True,
    ),
    Sign(
        r"UserWarning: CUDA initialization: (The NVIDIA driver on your system is too old"
        r"|CUDA unknown error|Unexpected error from cudaGetDeviceCount)",
        "torch could not use the node's GPU driver",
        Role.CONFIRMATION,
        needs_failure=True,
        certainty="possible",
    ),
    Sign(
        r"(?!.*frame #)([Ee]rror|failure|FATAL).*"
        r"CUDA driver version is insufficient for CUDA runtime version",
        "the NVIDIA driver is too old for this torch or library",
    ),
    Sign(
        r"([Ee]rror|failure).*no kernel image is available for execution on the device"
        r"|hipErrorNoBinaryForGpu: Unable",
        "torch or an extension was not built for this GPU's architecture",
    ),
    Sign(
        r"(CUDA|HIP)( runtime)? [Ee]rror.*: invalid device function",
        "torch or an extension was not built for this GPU's architecture",
        certainty="likely",
    ),
    Sign(
        r"with CUDA capability sm_\d+ is not compatible with the current PyTorch installation",
        "torch was not built for this GPU's architecture",
        Role.CONFIRMATION,
        needs_failure=True,
        certainty="possible",
    ),
    Sign(
        r"([Ee]rror|failure|Exception).*(forward compatibility was attempted on non supported HW"
        r"|system has unsupported display driver / cuda driver combination)",
        "the CUDA libraries and the node's driver do not fit",
    ),
    Sign(
        r"the provided PTX was compiled with an unsupported toolchain",
        "a kernel was compiled for a newer CUDA than the node's driver knows",
        needs_failure=True,
    ),
    Sign(
        r"(RuntimeError|what\(\)|FAIL|CUDA_ERROR_SYSTEM_NOT_READY).*: system not yet initialized"
        r"|(NCCL WARN .*|^Cuda failure \d+ )'system not yet initialized'",
        "the GPUs are not initialized: the fabric manager of the node does not run",
    ),
    Sign(
        r"Failed to initialize NVML: (?P<why>Driver/library version mismatch|Driver Not Loaded)"
        r"|NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver",
        "the node's NVIDIA driver does not answer {why}",
        needs_failure=True,
    ),
    Sign(
        _RAISED + r"(Found no NVIDIA driver on your system|NVML: Driver/library version mismatch"
        r"|CUDA unknown error - this may be due to an incorrectly set up environment)",
        "the node's NVIDIA driver does not answer",
    ),
    Sign(
        _RAISED + r"(CUDA|HIP) error: unknown error",
        "the driver reports an unknown error: the GPU or its driver may be broken",
        certainty="possible",
    ),
    Sign(
        r"(NCCL WARN |^)Cuda failure (\d+ )?'(initialization error|unknown error)'$",
        "the GPU or its driver did not answer NCCL",
        certainty="possible",
    ),
    Sign(
        _RAISED + r"CUDA-capable device\(s\) is/are busy or unavailable"
        r"|" + _RAISED + r"all CUDA-capable devices are busy or unavailable",
        "the GPU is held by another process, or its driver does not answer",
        certainty="possible",
    ),
)
CURE = (
    "a torch that fits the node's driver and GPU (nvidia-smi shows the driver's CUDA); leave out"
    " a node that differs (--set request.exclude=NODE)"
)
MISLEADS = "NCCL's unhandled cuda error, and the Python line: it is any first use of a GPU"
EXPLAINS = ("peer-lost", "collective-timeout", "rendezvous", "python-exception", "gpu-missing")
