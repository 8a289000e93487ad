"""The scheduler ended the job when its time was over.

The job reached its time limit (`--time`, `-l walltime`, `-W` of LSF), and the scheduler sent TERM
to all processes, and KILL some seconds later.

One sees `CANCELLED AT … DUE TO TIME LIMIT` near the end, once for the job and once for its step.
The node in that line is the one that wrote it, and no node is at fault. Lines with SIGTERM,
"Terminated" and torchrun's SignalException come after it and say nothing.

What misleads: a job that hangs also ends so. If the last line of a rank is much older than this
one (a progress bar that stopped hours before), search for the hang and not for more time:
`--stall` of jobgen shows where the ranks wait. A rank that failed before is the cause, and this
line is not.

The cure: more time, or a checkpoint before the end. `--signal SECONDS` warns the ranks with
SIGUSR1 before the walltime; `--requeue` puts the job back into the queue, where it continues.

Sources: https://slurm.schedmd.com/sbatch.html#OPT_time
https://github.com/SchedMD/slurm/blob/master/src/slurmd/slurmstepd/req.c (_handle_signal_container)
https://github.com/facebookincubator/submitit/issues/1776
https://github.com/NVIDIA/JAX-Toolbox/pull/398
https://github.com/Lightning-AI/pytorch-lightning/issues/20542
"""

from jobgen.diagnosis.signs import Role, Sign

_SAYS = "the job reached its time limit"

SIGNS = (
    Sign(
        # Slurm since 24.11 writes the time in the place of its name.
        r"(?:(?<![\"'`])slurmstepd(?:-\S+)?: |^|\[\d{4}-[\dT:.-]+\] )error: \*\*\* "
        r"(?:JOB|STEP) [\d.+]+ (?:STEPD TERMINATED )?ON \S+ CANCELLED AT \S+ DUE TO TIME LIMIT",
        _SAYS,
    ),
    Sign(r"slurm\w*: error: \*\*\* (?:JOB|STEP) [\d.+]+ CANCELLED AT \S+ DUE TO TIME LIMIT", _SAYS),
    Sign(
        r"^salloc: Job \d+ has exceeded its time limit and its allocation has been revoked", _SAYS
    ),
    Sign(
        r"^salloc: error: Job allocation \d+ has been revoked", _SAYS, Role.CAUSE, False, "possible"
    ),
    Sign(r"Caught signal \w+ on \S+: this job is timed-out", _SAYS, Role.CONFIRMATION),
    Sign(r"Job not requeued because: timed-out", _SAYS, Role.CONFIRMATION),
    Sign(r"^TERM_RUNLIMIT: job killed after reaching LSF run time limit", _SAYS, Role.CONFIRMATION),
    Sign(r"^sacct: State=TIMEOUT JobID=\d+(?:_\d+)? ", _SAYS, Role.CONFIRMATION),
    Sign(
        r"^sacct: State=DEADLINE JobID=\d+(?:_\d+)? ",
        "the job did not end before its deadline",
        Role.CONFIRMATION,
    ),
    Sign(r"\bJobState=TIMEOUT Reason=", _SAYS, Role.CONFIRMATION),
    Sign(r"^jobgen: the walltime is near", "the walltime is near", Role.NOISE),
)
CURE = (
    "ask for more with -t TIME, or save before the end with --signal SECONDS and continue with"
    " --requeue; if the output stopped long before, the job hung: see --stall"
)
MISLEADS = "SIGTERM, Terminated and SignalException: they are what the scheduler did then"
EXPLAINS = ("cancelled", "killed", "peer-lost", "launcher-report", "srun-step")
