"""The driver of a node, or the architecture of its GPU, does not fit torch.

torch was built for a newer CUDA than the node's driver knows, or not for the GPU's architecture;
or the driver does not run: it was updated without a reboot, or the fabric manager of an NVSwitch
machine is down. On several nodes this happens on those alone that differ.

One sees at the first CUDA call `The NVIDIA driver on your system is too old`, `no kernel image
is available for execution on the device`, `system not yet initialized`, `Driver/library version
mismatch`, on ROCm `hipErrorNoBinaryForGpu` or `invalid device function`.

A wheel's name has its CUDA or ROCm (+cu…, +rocm…), and `torch.cuda.get_arch_list()` its
architectures; `nvidia-smi` shows the newest CUDA that the driver knows. Tell the administrators the
node whose driver does not run.

Cure: a torch that fits the node's driver and GPU (nvidia-smi shows the driver's CUDA); leave out a
node that differs (--set request.exclude=NODE)

Not this: NCCL's unhandled cuda error, and the Python line: it is any first use of a GPU

Sources: https://docs.nvidia.com/deploy/cuda-compatibility/
https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
https://github.com/pytorch/pytorch torch/csrc/cuda/Module.cpp, torch/cuda/__init__.py
https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/debugging.html
"""

SIGNS = r"""
sure cause if failed: the NVIDIA driver (CUDA {version}) is too old for this torch
    ^(RuntimeError: )?The NVIDIA driver on your system is too old \(found version (?P<version>\d+)\)
possible confirmation if failed: torch could not use the node's GPU driver
    UserWarning: CUDA initialization: (The NVIDIA driver on your system is too old
        |CUDA unknown error|Unexpected error from cudaGetDeviceCount)
sure cause: the NVIDIA driver is too old for this torch or library
    (?!.*frame #)([Ee]rror|failure|FATAL).*CUDA driver version is insufficient for CUDA runtime[ ]
        version
sure cause: torch or an extension was not built for this GPU's architecture
    ([Ee]rror|failure).*no kernel image is available for execution on the device
    hipErrorNoBinaryForGpu: Unable
likely cause: torch or an extension was not built for this GPU's architecture
    (CUDA|HIP)( runtime)? [Ee]rror.*: invalid device function
possible confirmation if failed: torch was not built for this GPU's architecture
    with CUDA capability sm_\d+ is not compatible with the current PyTorch installation
sure cause: the CUDA libraries and the node's driver do not fit
    ([Ee]rror|failure|Exception).*(forward compatibility was attempted on non supported HW
        |system has unsupported display driver / cuda driver combination)
sure cause if failed: a kernel was compiled for a newer CUDA than the node's driver knows
    the provided PTX was compiled with an unsupported toolchain
sure cause: the GPUs are not initialized: the fabric manager of the node does not run
    (RuntimeError|what\(\)|FAIL|CUDA_ERROR_SYSTEM_NOT_READY).*: system not yet initialized
    (NCCL WARN .*|^Cuda failure \d+ )'system not yet initialized'
sure cause if failed: the node's NVIDIA driver does not answer {why}
    Failed to initialize NVML: (?P<why>Driver/library version mismatch|Driver Not Loaded)
        |NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver
sure cause: the node's NVIDIA driver does not answer
    <RAISED>(Found no NVIDIA driver on your system|NVML: Driver/library version mismatch
        |CUDA unknown error - this may be due to an incorrectly set up environment)
possible cause: the driver reports an unknown error: the GPU or its driver may be broken
    <RAISED>(CUDA|HIP) error: unknown error
possible cause: the GPU or its driver did not answer NCCL
    (NCCL WARN |^)Cuda failure (\d+ )?'(initialization error|unknown error)'$
possible cause: the GPU is held by another process, or its driver does not answer
    <RAISED>CUDA-capable device\(s\) is/are busy or unavailable
    <RAISED>all CUDA-capable devices are busy or unavailable
"""
EXPLAINS = "peer-lost collective-timeout rendezvous python-exception gpu-missing"
TRAITS = "gpu"
