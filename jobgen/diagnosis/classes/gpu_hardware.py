"""A GPU or its link is broken: an ECC error, a Xid, or a GPU that fell off the bus.

The memory of a GPU had an error that cannot be corrected, an NVLink failed, or the GPU does not
answer any more. The rank with that GPU gets a CUDA error at any call (`uncorrectable ECC error
encountered`, `unknown error`); the kernel of the node logs a Xid; all other ranks wait for it,
and their watchdogs report a timeout that names no host.

Xid that mean hardware: 48, 63, 64, 94, 95 (memory), 74 (NVLink), 79 (fallen off the bus), 119
and 120 (the GPU's own processor), 61, 62. Xid 13, 31, 43 and 45 come from programs as a rule.

Tell the site the Xid, too: a reset or reboot helps some (94, 119), else the GPU is exchanged.

Cure: submit again without that node (--set request.exclude=NODE) and tell the administrators the
node and the GPU

Not this: NCCL's timeout and unhandled cuda error: the other ranks only waited for that GPU

Sources: https://docs.nvidia.com/deploy/xid-errors/
https://docs.nvidia.com/deploy/gpu-debug-guidelines/
https://github.com/pytorch/pytorch/issues/113128
https://github.com/vllm-project/vllm/issues/5222
https://github.com/jade-hpc-gpu/jade-hpc-gpu.github.io/issues/194
"""

SIGNS = r"""
# Not in quotes: a form's or a page's example of a message.
ERROR = (?<![`'"])(?<![`'"]RuntimeError: )\b(CUDA|HIP|cuda runtime) error.{0,12}: ?
sure cause: the GPU's memory has an error that cannot be corrected (ECC)
    <ERROR>uncorrectable ECC error encountered|error=\d+ : uncorrectable ECC
    failure (\d+ )?'uncorrectable ECC error|CUDA_ERROR_ECC_UNCORRECTABLE:[ ]
    cudaErrorECCUncorrectable: |hipErrorECCNotCorrectable:[ ]
sure cause: an NVLink of the GPU failed
    <ERROR>uncorrectable NVLink error|failure (\d+ )?'uncorrectable NVLink error
likely cause: the GPU or its NVLink failed
    <ERROR>(hardware stack error|Invalid access of peer GPU memory)
    failure (\d+ )?'(hardware stack error|Invalid access of peer GPU memory)
sure confirmation: the GPU does not answer any more (fallen off the bus)
    (NVRM: (?!Xid)|Xid \(PCI:[0-9a-fA-F]+:[0-9a-fA-F][0-9a-fA-F:.]*\)|GPU \w*\d\S*): ?.*fallen[ ]
        off the bus
    NVMLError_GpuIsLost|GPU is lost\.\s+Reboot the system
sure confirmation: the GPU at {device} reported Xid {xid}, which means broken hardware
    Xid \(PCI:(?P<device>[0-9a-fA-F]+:[0-9a-fA-F][0-9a-fA-F:.]*)\): (.*caused by previous Xid )?
        (?P<xid><BROKEN>)\b
sure confirmation: nvidia-smi cannot reach a GPU any more
    Unable to determine the device handle for GPU\s?\S*: (Unknown Error|GPU is lost)
sure confirmation: the GPU's memory has an error that cannot be corrected (RAS)
    amdgpu.*(uncorrectable (hardware )?errors?|RAS.*poison)|ERREVENT_ATHUB_INTERRUPT
"""
EXPLAINS = (
    "collective-timeout peer-lost rendezvous device-assert gpu-driver gpu-missing crash fabric"
    " python-exception node-lost silent-hang"
)
TRAITS = "gpu"
