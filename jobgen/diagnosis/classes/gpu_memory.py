"""A GPU ran out of memory.

A tensor did not fit into what is free of the GPU's memory. torch's message counts what is free,
what this process has, and what other processes have. NCCL needs memory of its own (some hundred
MiB for each process group), and reports `Cuda failure 'out of memory'`; cuBLAS and cuDNN say
ALLOC_FAILED.

Decisive is the first OutOfMemoryError. When it comes on one rank only, that rank had the longest
batch, or a second process on its GPU (every rank made a context on GPU 0: set the device before
the first CUDA call). After it, the other ranks wait for a collective, or the failed rank itself
hangs in destroy_process_group, and the log ends in a timeout much later.

torchrun's summary has `exitcode 1` without a message. Sharding is FSDP's or ZeRO's; from torch 2.9
on, the variable is PYTORCH_ALLOC_CONF; load checkpoints with map_location="cpu".

Cure: a smaller batch for each GPU, activation checkpointing or sharding over more nodes; -e
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True against fragmentation

Not this: timeouts and lost peers of the other ranks: they waited for this one

Sources: https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management
https://github.com/pytorch/pytorch c10/cuda/CUDACachingAllocator.cpp
https://github.com/goodfire-ai/spd/pull/552
https://github.com/huggingface/accelerate/issues/1519
https://github.com/salesforce/CodeGen2/issues/3
"""

SIGNS = r"""
sure cause: the GPU ran out of memory
    (?<![`'"])\b(\w+\.)*(OutOfMemoryError|RuntimeError)\b.*?: ?(?P<kind>CUDA|HIP|XPU|NPU) out of[ ]
        memory\. ?(Tried to allocate (?P<size>[\d.]+ ?\w+))?
    \bError: CUDA error \d* ?'out of memory'
sure cause if failed: the GPU ran out of memory
    \b(?P<kind>CUDA|HIP|XPU|NPU) out of memory\. Tried to allocate (?P<size>[\d.]+ ?\w+)
likely cause: the GPU ran out of memory
    (?:^|[\])|] )(\w+\.)*(OutOfMemoryError|RuntimeError|AcceleratorError): (CUDA|HIP)[ ]
        (driver )?error: (out of memory|hipErrorOutOfMemory)
likely cause: the GPU ran out of memory (in NCCL)
    (NCCL WARN |^)(Cuda|HIP|Hip) failure (\d+ )?'out of memory'$
likely cause if failed: the GPU ran out of memory
    cudaMalloc failed: out of memory|CUDA_ERROR_OUT_OF_MEMORY
    (CUBLAS|HIPBLAS|CUDNN|CUSOLVER|CUSPARSE)_STATUS_ALLOC_FAILED
possible cause: cuBLAS could not start, most often because the GPU's memory is full
    RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling
sure cause: the GPU ran out of memory
    \bException in .*: CUDA out of memory\. Tried to allocate (?P<size>[\d.]+ ?\w+)
"""
EXPLAINS = "collective-timeout peer-lost rendezvous crash silent-hang desync"
