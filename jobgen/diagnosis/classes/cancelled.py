"""Somebody cancelled the job, or interrupted it.

scancel, qdel, Ctrl-C in an interactive job, or a terminal that was closed. The scheduler does not
write who it was; sacct shows the user's number (`CANCELLED by 1000`).

One sees `*** JOB 12 ON node CANCELLED AT … ***` without a reason. The same line for a STEP means
nothing: srun ends the other tasks so, when one has failed. `SignalException: Process … got
signal: 1` is a terminal that was closed: SIGHUP.

People cancel jobs that hang: if the last line of the ranks is much older, the hang is the cause.
KeyboardInterrupt in Python's traceback shows where the program was when somebody lost patience.
Against closed terminals: submit a batch job, or use tmux.

Cure: submit it again; if it was cancelled because it hung, --stall shows where the ranks wait

Not this: SIGTERM, Terminated and broken connections on the ranks: they come after it

Sources: https://slurm.schedmd.com/scancel.html
https://github.com/SchedMD/slurm/blob/master/src/slurmd/slurmstepd/req.c (_handle_signal_container)
https://github.com/zai-org/ChatGLM2-6B/issues/238
OpenPBS, src/resmom/mom_main.c: an exit status of 256 + N is signal N
"""

SIGNS = r"""
JOB = <STEPD_ERROR>JOB [\d.+]+ ON \S+ CANCELLED AT \S+
STEP = <STEPD_ERROR>STEP [\d.+]+ ON \S+ CANCELLED AT \S+
likely cause: somebody cancelled the job
    <JOB> \*\*\*
    <JOB> DUE to SIGNAL \w+
teardown: somebody cancelled the job
    <STEP> (?:\*\*\*|DUE to SIGNAL|DUE TO TASK)
possible confirmation: the job got SIGTERM: somebody cancelled it, or its time was over
    ^jobgen: the job was ended from outside
sure cause: somebody cancelled the job
    ^s(?:alloc|run): error: Job allocation \d+ has been cancelled
possible confirmation: somebody interrupted it (Ctrl-C)
    # after scancel, too
    ^srun: forcing job termination
sure confirmation: somebody interrupted it (Ctrl-C)
    ^srun: interrupt \(one more within 1 sec to abort\)
sure cause: the terminal that it was started in was closed (SIGHUP)
    SignalException: Process \d+ got signal: 1$
possible cause: somebody interrupted it (Ctrl-C)
    SignalException: Process \d+ got signal: 2$
    ^KeyboardInterrupt$
teardown: torchrun got SIGTERM
    SignalException: Process \d+ got signal: 15$
sure confirmation: the user with number {user} cancelled the job
    ^sacct: State=CANCELLED by (?P<user>\d+) JobID=\d+(?:_\d+)?[ ]
sure confirmation: somebody cancelled the job
    ^sacct: State=CANCELLED JobID=\d+(?:_\d+)?[ ]
    \bJobState=CANCELLED Reason=
    ^TERM_OWNER: job killed by owner
    ^TERM_ADMIN: job killed by root or LSF administrator
likely confirmation: the job got SIGTERM: somebody deleted it (qdel)
    ^qstat: [Ee]xit_status=(?:271|143)[ ]
likely confirmation: the terminal that it was started in was closed (SIGHUP)
    Received 1 death signal, shutting down workers|\bclosing signal SIGHUP$
"""
EXPLAINS = "killed peer-lost launcher-report srun-step"
TRAITS = "scheduler outside"
