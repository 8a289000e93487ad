"""A rank asked for a GPU that it does not have.

More ranks were started on a node than it has GPUs for the job, or the job has no GPU there at
all: it asked for none, the step did not get the job's GPUs (`srun` without --gpus…),
CUDA_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES hides them, the container was started without them,
or torch is the build for CPUs.

One sees `invalid device ordinal` (rank 4 of a node with 4 GPUs asks for cuda:4), `No CUDA GPUs
are available`, `no CUDA-capable device is detected`, `Torch not compiled with CUDA enabled`.

With Slurm's --gpus-per-task or --gpu-bind a rank sees only its own GPU, and that is cuda:0: a
program that uses `cuda:LOCAL_RANK` then fails on all ranks but the first.

Cure: ask for the GPUs with -G (--gpus-per-node), and start as many ranks a node as it has GPUs

Not this: lost peers and timeouts of the ranks that did get a GPU

Sources: https://slurm.schedmd.com/gres.html
https://github.com/pytorch/pytorch torch/cuda/__init__.py
"""

SIGNS = r"""
sure cause: asked for a GPU that it does not have (more ranks than GPUs?)
    (CUDA|HIP|cuda runtime|hip runtime)? ?[Ee]rror.*: ?(invalid device ordinal
        |hipErrorInvalidDevice\b)
    (Cuda|HIP|Hip) failure (\d+ )?'invalid device ordinal'
sure cause: found no GPU
    <RAISED>(No (CUDA|HIP) GPUs are available|no (CUDA|ROCm)-capable device is detected)
    (Cuda|HIP|Hip) failure (\d+ )?'no (CUDA|ROCm)-capable device is detected'
    ProcessGroupNCCL is only supported with GPUs, no GPUs found
likely cause: torch finds no GPU, or is the build for CPUs
    ^AssertionError: Torch not compiled with CUDA enabled
    Attempting to deserialize object on a CUDA device but torch\.cuda\.is_available\(\) is False
likely cause: asked for a GPU that it does not have, or CUDA_VISIBLE_DEVICES changed after the start
    device >= 0 && device < num_gpus INTERNAL ASSERT FAILED
sure cause: Lightning sees no such GPU
    MisconfigurationException(?:: |\(['"])(?:You requested GPUs: \[|No supported gpu backend found)
"""
EXPLAINS = "peer-lost collective-timeout rendezvous python-exception"
TRAITS = "gpu"
