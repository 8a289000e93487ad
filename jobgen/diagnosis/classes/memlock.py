"""The limit of locked memory is too low for the fabric.

Verbs and libfabric register memory with the adapter, which locks it. Where the limit (`ulimit -l`)
is a few MiB or less, this fails with `Cannot allocate memory`, although the node has memory enough.
The limit of a login shell is not that of a job: Slurm passes on that of the shell which submitted
(PropagateResourceLimits), a daemon that was started before limits.conf changed keeps the old one,
and a container has its own.

An adapter also runs out of queues in very large jobs (`ibv_create_cq`, with an unlimited `ulimit
-l`): there, fewer connections help (NCCL_IB_QPS_PER_CONNECTION=1, PXN).

`ulimit -l unlimited` in the job helps if the hard limit allows it (`--set software.commands=…`);
the site sets it by systemd's LimitMEMLOCK=infinity. The line of each node in a script of jobgen
shows the limit (`memlock unlimited`).

Cure: raise ulimit -l to unlimited: for slurmd or pbs_mom by the site, in docker --ulimit memlock=-1
(--set software.container.options=…)

Not this: too little RAM: the node has enough

Sources: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#infiniband
https://github.com/NVIDIA/nccl-tests/issues/206
https://github.com/NVIDIA/nccl/issues/1191
https://github.com/openucx/ucx/issues/8229
https://slurm.schedmd.com/faq.html#memlock
"""

SIGNS = r"""
likely cause: no memory could be locked for the adapter ({call}): ulimit -l is too low
    Call to (?P<call>ibv_reg_\w+) failed with error Cannot allocate memory
possible cause: no memory could be locked for the adapter ({call}): ulimit -l is too low
    Call to (?P<call>ibv_create_(?:cq|qp|srq)|ibv_alloc_pd) failed with error Cannot allocate
    WARN Call to (?P<call>ibv_create_(?:cq|qp)|ibv_reg_mr) failed\s*$
likely confirmation if failed: the limit of locked memory is {limit}
    [Pp]lease set max locked memory \(ulimit -l\) to '?unlimited'? \(current: (?P<limit>[^)]+)\)
likely confirmation if failed: no memory could be locked for the adapter: ulimit -l is too low
    \bibv_(?:reg_mr|exp_reg_mr|create_cq|create_qp)\w*(?:\([^)]*\))? failed: Cannot allocate memory
likely cause: no memory could be locked for the adapter: ulimit -l is too low
    NET/OFI Unable to register memory.*Cannot allocate memory
sure cause: MPI could lock no memory: ulimit -l is too low
    failed to initialize while trying to allocate some locked memory
noise:
    libibverbs: Warning: RLIMIT_MEMLOCK is \d+ bytes
"""
EXPLAINS = "peer-lost collective-timeout silent-hang fabric"
