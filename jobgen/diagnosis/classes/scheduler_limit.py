"""The scheduler ended the job when its time was over.

The job reached its time limit (`--time`, `-l walltime`, `-W` of LSF), and the scheduler sent TERM
to all processes, and KILL some seconds later.

One sees `CANCELLED AT … DUE TO TIME LIMIT` near the end, once for the job and once for its step.
The node in that line is the one that wrote it, and no node is at fault.

A job that hangs also ends so: the last line of a rank is then much older than this one (a progress
bar that stopped hours before). A rank that failed before is the cause, and this line is not.

`--signal SECONDS` warns the ranks with SIGUSR1 before the walltime; `--requeue` puts the job back
into the queue.

Cure: ask for more with -t TIME, or save before the end with --signal SECONDS and continue with
--requeue; if the output stopped long before, the job hung: see --stall

Not this: SIGTERM, Terminated and SignalException: they are what the scheduler did then

Sources: https://slurm.schedmd.com/sbatch.html#OPT_time
https://github.com/SchedMD/slurm/blob/master/src/slurmd/slurmstepd/req.c (_handle_signal_container)
https://github.com/facebookincubator/submitit/issues/1776
https://github.com/NVIDIA/JAX-Toolbox/pull/398
https://github.com/Lightning-AI/pytorch-lightning/issues/20542
"""

SIGNS = r"""
sure cause: the job reached its time limit
    <STEPD_ERROR>(?:JOB|STEP) [\d.+]+ (?:STEPD TERMINATED )?ON \S+ CANCELLED AT \S+ DUE TO TIME[ ]
        LIMIT
    slurm\w*: error: \*\*\* (?:JOB|STEP) [\d.+]+ CANCELLED AT \S+ DUE TO TIME LIMIT
    ^salloc: Job \d+ has exceeded its time limit and its allocation has been revoked
possible cause: the job reached its time limit
    ^salloc: error: Job allocation \d+ has been revoked
sure confirmation: the job reached its time limit
    Caught signal \w+ on \S+: this job is timed-out
    Job not requeued because: timed-out
    ^TERM_RUNLIMIT: job killed after reaching LSF run time limit
    ^sacct: State=TIMEOUT JobID=\d+(?:_\d+)?[ ]
    \bJobState=TIMEOUT Reason=
sure confirmation: the job did not end before its deadline
    ^sacct: State=DEADLINE JobID=\d+(?:_\d+)?[ ]
noise:
    ^jobgen: the walltime is near
"""
EXPLAINS = "cancelled killed peer-lost launcher-report srun-step"
TRAITS = "scheduler outside"
