"""A kernel on a GPU failed an assertion, or read memory that is not its own.

An index was out of range: a label that is not below the number of classes, a token id above the
size of the vocabulary, a position above the length of the embedding; or a custom kernel
(attention, fused optimizer, quantization) reads past an array. CUDA reports it at some later
call, so the Python line of the exception is often innocent, and every later call of that rank
fails with the same error (710, 700, 719), NCCL's and the watchdog's too.

The line that counts is the first rank's `Assertion … failed` with block and thread: it stands above
all other errors.
An illegal access has no such line: run one node with CUDA_LAUNCH_BLOCKING=1 (HIP:
AMD_SERIALIZE_KERNEL=3), or under compute-sanitizer, to see the kernel.

NCCL then says `NCCL WARN Cuda failure 710` and `watchdog thread terminated with exception: CUDA
error`, and the other ranks time out. An illegal access on one node only, with the same program and
data elsewhere, may be its hardware: look for Xid. Ranges are best checked on the CPU before the
step.

Cure: check the range of labels and indices (number of classes, vocabulary); for an illegal access
run one node with -e CUDA_LAUNCH_BLOCKING=1 to see the kernel

Not this: NCCL's Cuda failure and the watchdog's exception: they only met the error

Sources: https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html
https://github.com/pytorch/pytorch aten/src/ATen/native/cuda/Loss.cu
https://github.com/milesial/Pytorch-UNet/issues/375
https://github.com/modelscope/ms-swift/issues/3267
https://github.com/layumi/Person_reID_baseline_pytorch/issues/372
"""

SIGNS = r"""
# Not in quotes: a form's or a page's example of a message.
ERROR = (?<![`'"])(?<![`'"]RuntimeError: )\b(CUDA|HIP|ROCm|cuda runtime|hip runtime)[ ]
        (runtime )?[Ee]rror.{0,12}:.{0,40}
sure cause: the assertion {condition} failed in a kernel on the GPU
    :\d+: .*(block: ?\[|Block )\d+, ?\d+, ?\d+\]?,? (thread: ?\[|Thread )\d+, ?\d+, ?\d+\]?,?:?[ ]
        Assertion [`'"](?P<condition>.*)['`"] failed
    \.(hip|cu|cuh|h)\S*:\d+:.* Device-side assertion [`'](?P<condition>.*)' failed
    \.(?:hip|cuh?)\]?, thread: .*Assertion [`'](?P<condition>.*)[`'] failed
sure cause: an assertion failed in a kernel on the GPU
    <ERROR>device-side assert triggered
    (Cuda|HIP|Hip) failure (\d+ )?'device-side assert triggered'|hipErrorAssert:[ ]
    cudaErrorAssert:[ ]
sure cause: a kernel on the GPU read or wrote memory that is not its own
    <ERROR>an illegal memory access was encountered
    (Cuda|HIP|Hip) failure (\d+ )?'an illegal memory access was encountered'
    CUDA_ERROR_ILLEGAL_ADDRESS: |cudaErrorIllegalAddress:[ ]
    \b(?:CUDA|[Cc]uda) [Ee]rror(?:\(700\)[,.]|:) ?an illegal memory access was encountered
likely cause: a kernel on the GPU made an illegal access
    <ERROR>(misaligned address|an illegal instruction was encountered|invalid program counter)
    (Cuda|HIP|Hip) failure (\d+ )?'(misaligned address|an illegal instruction)
likely cause: a kernel on the GPU failed (unspecified launch failure)
    <ERROR>unspecified launch failure
    (Cuda|HIP|Hip) failure (\d+ )?'unspecified launch failure'
likely cause if failed: a kernel on the GPU made an illegal access (Xid)
    Xid \(PCI:[0-9a-fA-F:.]+\): (13|31),
"""
EXPLAINS = "peer-lost collective-timeout rendezvous python-exception crash desync"
TRAITS = "gpu"
