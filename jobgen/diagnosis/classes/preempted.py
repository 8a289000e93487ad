"""The scheduler took the nodes away for another job.

A job in a partition or a quality of service with lower priority can be preempted: Slurm sends
TERM, and cancels the job or puts it back into the queue, as the site's PreemptMode says.

One sees `CANCELLED AT … DUE TO PREEMPTION` or `DUE TO JOB REQUEUE`, and `State=PREEMPTED` in
sacct. The node in the line is the one that wrote it. Without one of these lines, a preempted job
looks like a cancelled one: ask sacct (`jobgen why JOBID` does).

What misleads: SIGTERM on all ranks, torchrun's SignalException, broken connections on nodes that
end later. `DUE TO JOB REQUEUE` is also what a person's `scontrol requeue` writes, and jobgen's
own requeue at the walltime.

The cure: `--requeue`, with a program that loads its last checkpoint; `--signal SECONDS` gives it
time to save where the site sends a signal first; or a partition or QOS that is not preempted.

Sources: https://slurm.schedmd.com/preempt.html
https://github.com/SchedMD/slurm/blob/master/src/slurmd/slurmstepd/req.c (_handle_signal_container)
https://github.com/facebookincubator/submitit/issues/1708
https://github.com/SystemsGenetics/GEMmaker/issues/233
"""

from jobgen.diagnosis.signs import Role, Sign

_SAYS = "another job with more priority got the nodes"
_REQUEUED = "Slurm put the job back into the queue: a preemption, or scontrol requeue"
# Slurm since 24.11 writes the time in the place of its name; a progress bar may stand before it.
_LINE = (
    r"(?:(?<![\"'`])slurmstepd(?:-\S+)?: |^|\[\d{4}-[\dT:.-]+\] )error: \*\*\* "
    r"(?:JOB|STEP) [\d.+]+ ON \S+ CANCELLED AT \S+ "
)

SIGNS = (
    Sign(_LINE + r"DUE TO PREEMPTION \*\*\*", _SAYS),
    Sign(_LINE + r"DUE TO JOB REQUEUE \*\*\*", _REQUEUED, certainty="likely"),
    Sign(r"Caught signal \w+ on \S+: this job is preempted", _SAYS, certainty="likely"),
    Sign(r"Job not requeued because: preempted", _SAYS, Role.CONFIRMATION),
    Sign(r"^TERM_PREEMPT: job killed after preemption", _SAYS, Role.CONFIRMATION),
    Sign(r"^sacct: State=PREEMPTED JobID=\d+(?:_\d+)? ", _SAYS, Role.CONFIRMATION),
    Sign(r"\bJobState=PREEMPTED Reason=", _SAYS, Role.CONFIRMATION),
    Sign(
        r"^sacct: State=REQUEUED JobID=\d+(?:_\d+)? ",
        _REQUEUED,
        Role.CONFIRMATION,
        certainty="likely",
    ),
    Sign(
        r"the actor's node was preempted: ",
        "the node was preempted",
        Role.CONFIRMATION,
        certainty="likely",
    ),
)
CURE = "use --requeue and a program that continues from its checkpoint, or another -p or --qos"
MISLEADS = "SIGTERM and broken connections on the ranks: they come after the preemption"
EXPLAINS = ("cancelled", "node-lost", "killed", "peer-lost", "launcher-report", "srun-step")
