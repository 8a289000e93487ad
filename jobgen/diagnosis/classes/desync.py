"""The ranks called different collectives, or with different shapes.

All ranks of a group have to call the same collectives in the same order with the same sizes. Where
one skips one (an `if rank == 0:` around it, an uneven number of batches, a loss that is not used on
one rank), or passes a tensor of another shape, the group is out of step. NCCL does not check it:
what is seen is a timeout, in which the same SeqNum has another OpType or NumelIn on some rank. gloo
compares the sizes (`op.preamble.length <= op.nbytes`), and TORCH_DISTRIBUTED_DEBUG=DETAIL compares
all.

Compare, per process group, what each rank did at the first SeqNum that differs, and look at the
rank that is alone. A short job is enough for TORCH_DISTRIBUTED_DEBUG=DETAIL. Give all ranks the
same number of batches (drop_last, or `join` of DDP).

`message truncated` and `collective mismatch error` of NCCL's transports mean that two ranks
disagree about the sizes of what is sent: different collectives, or variables such as NCCL_ALGO,
NCCL_PROTO or NCCL_BUFFSIZE that only some nodes have, or different versions of NCCL.

Cure: make every rank call the same collectives with the same shapes; -e
TORCH_DISTRIBUTED_DEBUG=DETAIL names the ranks and both calls

Not this: the rank that timed out first

Sources: https://docs.pytorch.org/docs/stable/distributed.html#torch-distributed-debug
https://github.com/pytorch/pytorch/pull/100214
https://github.com/pytorch/gloo/blob/main/gloo/transport/tcp/pair.cc
https://github.com/NVIDIA/nccl/blob/master/src/transport/net_socket.cc
https://github.com/NVIDIA/nccl/issues/969
https://github.com/Lightning-AI/pytorch-lightning/issues/19106
"""

SIGNS = r"""
sure report: ranks {first} and {second} called different collectives, or with different shapes
    Detected mismatch between collectives on ranks\. Rank (?P<first>\d+) is running[ ]
        (?:inconsistent )?collective: (?:CollectiveFingerPrint.*but Rank (?P<second>\d+) is)?
sure report: ranks called different collectives, or with different sizes
    Mismatched collective detected, please check your collective calls at and around rank
likely report: two ranks disagree about the size of a message: {local} and {remote} bytes
    collective mismatch error,? local size (?P<local>\d+) remote (?:size )?(?P<remote>\d+)
    message truncated : receiving (?P<local>\d+) bytes instead of (?P<remote>\d+)
sure report: two ranks disagree about the size of a tensor: {local} and {remote} bytes
    op\.preamble\.length <= op\.nbytes\. (?P<local>\d+) vs (?P<remote>\d+)
sure report: the ranks have different models
    DDP expects same model across all ranks, but Rank (?P<first>\d+) has \d+ params
    (?:params|replicas\[\d+\])\[\d+\] in this process with sizes .* appears not to match sizes of[ ]
        the same param
sure report: the ranks passed tensors of different shapes
    Cannot apply desired operation due to shape mismatches
"""
EXPLAINS = "peer-lost collective-timeout silent-hang"
TRAITS = "setup"
