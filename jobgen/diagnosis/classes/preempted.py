"""The scheduler took the nodes away for another job.

A job in a partition or a quality of service with lower priority can be preempted: Slurm sends
TERM, and cancels the job or puts it back into the queue, as the site's PreemptMode says.

One sees `CANCELLED AT … DUE TO PREEMPTION` or `DUE TO JOB REQUEUE`, and `State=PREEMPTED` in
sacct. The node in the line is the one that wrote it. Without one of these lines, a preempted job
looks like a cancelled one: ask sacct (`jobgen why JOBID` does).

`DUE TO JOB REQUEUE` is also what a person's `scontrol requeue` writes, and jobgen's own requeue at
the walltime. `--signal SECONDS` gives the program time to save where the site sends a signal first.

Cure: use --requeue and a program that continues from its checkpoint, or another -p or --qos

Not this: SIGTERM and broken connections on the ranks: they come after the preemption

Sources: https://slurm.schedmd.com/preempt.html
https://github.com/SchedMD/slurm/blob/master/src/slurmd/slurmstepd/req.c (_handle_signal_container)
https://github.com/facebookincubator/submitit/issues/1708
https://github.com/SystemsGenetics/GEMmaker/issues/233
"""

SIGNS = r"""
LINE = <STEPD_ERROR>(?:JOB|STEP) [\d.+]+ ON \S+ CANCELLED AT \S+
sure cause: another job with more priority got the nodes
    <LINE> DUE TO PREEMPTION \*\*\*
likely cause: Slurm put the job back into the queue: a preemption, or scontrol requeue
    <LINE> DUE TO JOB REQUEUE \*\*\*
likely cause: another job with more priority got the nodes
    Caught signal \w+ on \S+: this job is preempted
sure confirmation: another job with more priority got the nodes
    Job not requeued because: preempted
    ^TERM_PREEMPT: job killed after preemption
    ^sacct: State=PREEMPTED JobID=\d+(?:_\d+)?[ ]
    \bJobState=PREEMPTED Reason=
likely confirmation: Slurm put the job back into the queue: a preemption, or scontrol requeue
    ^sacct: State=REQUEUED JobID=\d+(?:_\d+)?[ ]
likely confirmation: the node was preempted
    the actor's node was preempted:[ ]
"""
EXPLAINS = "cancelled node-lost killed peer-lost launcher-report srun-step"
TRAITS = "scheduler outside"
