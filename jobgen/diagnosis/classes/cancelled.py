"""Somebody cancelled the job, or interrupted it.

scancel, qdel, Ctrl-C in an interactive job, or a terminal that was closed. The scheduler does not
write who it was; sacct shows the user's number (`CANCELLED by 1000`).

One sees `*** JOB 12 ON node CANCELLED AT … ***` without a reason. The same line for a STEP means
nothing: srun ends the other tasks so, when one has failed. `SignalException: Process … got
signal: 1` is a terminal that was closed: SIGHUP.

What misleads: people cancel jobs that hang. If the last line of the ranks is much older, the hang
is the cause. KeyboardInterrupt in Python's traceback shows where the program was when somebody
lost patience.

The cure: none, if it was on purpose. Against closed terminals: submit a batch job, or use tmux.

Sources: https://slurm.schedmd.com/scancel.html
https://github.com/SchedMD/slurm/blob/master/src/slurmd/slurmstepd/req.c (_handle_signal_container)
https://github.com/zai-org/ChatGLM2-6B/issues/238
OpenPBS, src/resmom/mom_main.c: an exit status of 256 + N is signal N
"""

from jobgen.diagnosis.signs import Role, Sign

_SAYS = "somebody cancelled the job"
_INTERRUPT = "somebody interrupted it (Ctrl-C)"
# Slurm since 24.11 writes the time in the place of its name; a progress bar may stand before it.
_STEPD = r"(?:(?<![\"'`])slurmstepd(?:-\S+)?: |^|\[\d{4}-[\dT:.-]+\] )error: \*\*\* "
_JOB = _STEPD + r"JOB [\d.+]+ ON \S+ CANCELLED AT \S+ "
_STEP = _STEPD + r"STEP [\d.+]+ ON \S+ CANCELLED AT \S+ "

SIGNS = (
    Sign(_JOB + r"\*\*\*", _SAYS, certainty="likely"),
    Sign(_JOB + r"DUE to SIGNAL \w+", _SAYS, certainty="likely"),
    Sign(_STEP + r"(?:\*\*\*|DUE to SIGNAL|DUE TO TASK)", _SAYS, Role.TEARDOWN),
    Sign(
        r"^jobgen: the job was ended from outside",
        "the job got SIGTERM: somebody cancelled it, or its time was over",
        Role.CONFIRMATION,
        certainty="possible",
    ),
    Sign(r"^s(?:alloc|run): error: Job allocation \d+ has been cancelled", _SAYS),
    Sign(r"^srun: forcing job termination", _INTERRUPT, certainty="likely"),
    Sign(r"^srun: interrupt \(one more within 1 sec to abort\)", _INTERRUPT, Role.CONFIRMATION),
    Sign(
        r"SignalException: Process \d+ got signal: 1$",
        "the terminal that it was started in was closed (SIGHUP)",
    ),
    Sign(r"SignalException: Process \d+ got signal: 2$", _INTERRUPT, certainty="possible"),
    Sign(r"SignalException: Process \d+ got signal: 15$", "torchrun got SIGTERM", Role.TEARDOWN),
    Sign(r"^KeyboardInterrupt$", _INTERRUPT, certainty="possible"),
    Sign(
        r"^sacct: State=CANCELLED by (?P<user>\d+) JobID=\d+(?:_\d+)? ",
        "the user with number {user} cancelled the job",
        Role.CONFIRMATION,
    ),
    Sign(r"^sacct: State=CANCELLED JobID=\d+(?:_\d+)? ", _SAYS, Role.CONFIRMATION),
    Sign(r"\bJobState=CANCELLED Reason=", _SAYS, Role.CONFIRMATION),
    Sign(
        r"^qstat: [Ee]xit_status=(?:271|143) ",
        "the job got SIGTERM: somebody deleted it (qdel)",
        Role.CONFIRMATION,
        certainty="likely",
    ),
    Sign(r"^TERM_OWNER: job killed by owner", _SAYS, Role.CONFIRMATION),
    Sign(r"^TERM_ADMIN: job killed by root or LSF administrator", _SAYS, Role.CONFIRMATION),
    Sign(
        r"Received 1 death signal, shutting down workers|\bclosing signal SIGHUP$",
        "the terminal that it was started in was closed (SIGHUP)",
        Role.CONFIRMATION,
        certainty="likely",
    ),
)
CURE = "submit it again; if it was cancelled because it hung, --stall shows where the ranks wait"
MISLEADS = "SIGTERM, Terminated and broken connections on the ranks: they come after it"
EXPLAINS = ("killed", "peer-lost", "launcher-report", "srun-step")
