"""The ranks hung, and no error says where.

The job is "running", but nothing is printed. What there is comes late: the heartbeat monitor of
torch ends a process whose watchdog itself was stuck (`watchdog got stuck for 480 seconds`), which
means a call of CUDA or NCCL that does not return, or a thread that holds Python's lock; or torchrun
waits at the exit for the ranks of other nodes (`Error waiting on exit barrier`), since some ended
and others did not.

What to look for is what is absent: a rank that printed less than the others, a node without a line,
a rank without a dump. Known causes: GPUs that cannot reach one another (ACS or the IOMMU is on, in
virtual machines; try NCCL_P2P_DISABLE=1 once to find out), destroy_process_group() while work is
pending, ranks that leave the loop early with exit status 0, nodes with different plugins of NCCL.

The warnings about the IOMMU, about `Guessing device ID based on global rank` and that
destroy_process_group() was not called are printed in many jobs that go well.

Cure: run it with --stall MINUTES: each rank then prints its stack, and the one that differs is
stuck; if all wait in NCCL from the start, try -e NCCL_P2P_DISABLE=1 once

Not this: the rank that prints it: it can have waited for another one

Sources: https://github.com/pytorch/pytorch/blob/main/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp
https://github.com/pytorch/pytorch/blob/main/torch/distributed/elastic/agent/server/api.py
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
https://github.com/snowflakedb/ArcticTraining/issues/219
https://github.com/NVIDIA/nccl/issues/1634
"""

SIGNS = r"""
likely report: a call of CUDA or NCCL did not return for {seconds} s
    ProcessGroupNCCL's watchdog got stuck for (?P<seconds>\d+) seconds without
likely report: a call of CUDA or NCCL did not return
    Heartbeat monitor timed out! Process will be terminated
    attempting to dump debug info, due to ProcessGroupNCCL watchdog hang
possible report: its ranks had ended, and those of other nodes had not, {seconds} s later
    Error waiting on exit barrier\. Elapsed: (?P<seconds>\d{3,})(?:\.\d+)? seconds
sure consequence: the agents of other nodes had gone
    Error waiting on exit barrier\. Elapsed:[ ]
# Warnings of torch and RCCL that most jobs can ignore.
noise:
    can (?:potentially )?cause a hang if (?:this )?rank to GPU mapping is
    Missing "(?:amd_iommu=on|iommu=pt|HSA_FORCE_FINE_GRAIN_PCIE=1)" from
    destroy_process_group\(\) was not called before program exit
"""
EXPLAINS = "peer-lost"
TRAITS = "waiting peers gpu"
