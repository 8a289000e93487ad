"""The scheduler took the nodes away for another job.

A job in a partition or a quality of service with lower priority can be preempted: Slurm sends
TERM, and cancels the job or puts it back into the queue, as the site's PreemptMode says.

One sees `CANCELLED AT … DUE TO PREEMPTION` or `DUE TO JOB REQUEUE`, and `State=PREEMPTED` in
sacct. The node in the line is the one that wrote it. Without one of these lines, a preempted job
looks like a cancelled one: ask sacct (`jobgen why JOBID` does).

`DUE TO JOB REQUEUE` is also what a person's `scontrol requeue` writes, and jobgen's own requeue at
the walltime. `--signal SECONDS` gives the program time to save where the site sends a signal first.

Sources: https://slurm.schedmd.com/preempt.html
https://github.com/SchedMD/slurm/blob/master/src/slurmd/slurmstepd/req.c (_handle_signal_container)
https://github.com/facebookincubator/submitit/issues/1708
https://github.com/SystemsGenetics/GEMmaker/issues/233
"""

from jobgen.diagnosis.signs import STEPD_ERROR, likely, sure

_SAYS = "another job with more priority got the nodes"
_REQUEUED = "Slurm put the job back into the queue: a preemption, or scontrol requeue"
_LINE = STEPD_ERROR + r"(?:JOB|STEP) [\d.+]+ ON \S+ CANCELLED AT \S+ "

SIGNS = (
    *sure.cause(_SAYS, rf"{_LINE}DUE TO PREEMPTION \*\*\*"),
    *likely.cause(_REQUEUED, rf"{_LINE}DUE TO JOB REQUEUE \*\*\*"),
    *likely.cause(_SAYS, r"Caught signal \w+ on \S+: this job is preempted"),
    *sure.confirmation(
        _SAYS,
        r"Job not requeued because: preempted",
        r"^TERM_PREEMPT: job killed after preemption",
        r"^sacct: State=PREEMPTED JobID=\d+(?:_\d+)? ",
        r"\bJobState=PREEMPTED Reason=",
    ),
    *likely.confirmation(_REQUEUED, r"^sacct: State=REQUEUED JobID=\d+(?:_\d+)? "),
    *likely.confirmation("the node was preempted", r"the actor's node was preempted: "),
)
CURE = "use --requeue and a program that continues from its checkpoint, or another -p or --qos"
MISLEADS = "SIGTERM and broken connections on the ranks: they come after the preemption"
EXPLAINS = "cancelled node-lost killed peer-lost launcher-report srun-step"
TRAITS = "scheduler outside"
