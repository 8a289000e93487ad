"""A GPU ran out of memory.

A tensor did not fit into what is free of the GPU's memory. torch's message counts what is free,
what this process has, and what other processes have. NCCL needs memory of its own (some hundred
MiB for each process group), and reports `Cuda failure 'out of memory'`; cuBLAS and cuDNN say
ALLOC_FAILED.

Decisive is the first OutOfMemoryError. When it comes on one rank only, that rank had the longest
batch, or a second process on its GPU (every rank made a context on GPU 0: set the device before
the first CUDA call). After it, the other ranks wait for a collective, or the failed rank itself
hangs in destroy_process_group, and the log ends in a timeout much later.

What misleads: the timeouts of other ranks; `exitcode 1` without a message in torchrun's summary.

Cure: a smaller batch a GPU, activation checkpointing, sharding (FSDP, ZeRO) over more nodes;
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (from torch 2.9 PYTORCH_ALLOC_CONF) against
fragmentation; load checkpoints with map_location="cpu".

Sources:
https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management
https://github.com/pytorch/pytorch c10/cuda/CUDACachingAllocator.cpp
https://github.com/goodfire-ai/spd/pull/552
https://github.com/huggingface/accelerate/issues/1519
https://github.com/salesforce/CodeGen2/issues/3
"""

from jobgen.diagnosis.signs import Sign

SIGNS = (
    Sign(
        r"(?<![`'\"])\b(\w+\.)*(OutOfMemoryError|RuntimeError)\b.*?: ?"
        r"(?P<kind>CUDA|HIP|XPU|NPU) out of memory\. ?(Tried to allocate (?P<size>[\d.]+ ?\w+))?",
        "the GPU ran out of memory",
    ),
    Sign(
        r"\b(?P<kind>CUDA|HIP|XPU|NPU) out of memory\. Tried to allocate (?P<size>[\d.]+ ?\w+)",
        "the GPU ran out of memory",
        needs_failure=True,
    ),
    Sign(
        r"(?:^|[\])|] )(\w+\.)*(OutOfMemoryError|RuntimeError|AcceleratorError): (CUDA|HIP) "
        r"(driver )?error: "
        r"(out of memory|hipErrorOutOfMemory)",
        "the GPU ran out of memory",
        certainty="likely",
    ),
    Sign(
        r"(NCCL WARN |^)(Cuda|HIP|Hip) failure (\d+ )?'out of memory'$",
        "the GPU ran out of memory (in NCCL)",
        certainty="likely",
    ),
    Sign(
        r"cudaMalloc failed: out of memory|CUDA_ERROR_OUT_OF_MEMORY"
        r"|(CUBLAS|HIPBLAS|CUDNN|CUSOLVER|CUSPARSE)_STATUS_ALLOC_FAILED",
        "the GPU ran out of memory",
        needs_failure=True,
        certainty="likely",
    ),
    Sign(
        r"RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling",
        "cuBLAS could not start, most often because the GPU's memory is full",
        certainty="possible",
    ),
    Sign(r"\bError: CUDA error \d* ?'out of memory'", "the GPU ran out of memory"),
    Sign(
        r"\bException in .*: CUDA out of memory\. Tried to allocate (?P<size>[\d.]+ ?\w+)",
        "the GPU ran out of memory",
    ),
)
CURE = (
    "a smaller batch for each GPU, activation checkpointing or sharding over more nodes;"
    " -e PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True against fragmentation"
)
MISLEADS = "timeouts and lost peers of the other ranks: they waited for this one"
EXPLAINS = ("collective-timeout", "peer-lost", "rendezvous", "crash", "silent-hang", "desync")
