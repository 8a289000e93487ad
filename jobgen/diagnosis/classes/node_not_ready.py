"""A node failed its check before the start, as the job's own script says.

jobgen's scripts look at each node before they start the ranks: the address, the port, the
program, Python, torch and the GPUs. A node that is not ready writes one line: its name, what is
wrong, and what to type. The job ends at once, and these are its last lines.

`its set-up stopped at` means that a line of software() in the script failed on the node, or takes
longer than `launch.join_timeout`, and has the last words of that line (a module that does not load,
`conda: command not found`). `no answer` means that the node wrote nothing in time. Lines of
other nodes that are ready mislead. The cure is in the line itself.

Cure: {cure}

Not this: srun's and PBS's lines about the end of the step: they come after it

Sources: templates/machinery/node/ and templates/machinery/job/roll-call.sh of jobgen
docs/machinery.md of jobgen
"""

SIGNS = r"""
NODE = ^jobgen: (?P<node>[A-Za-z0-9][\w.-]*):
likely confirmation: {problem}
    <NODE> (?P<problem>no answer)(?:, |: its set-up failed, )(?P<cure>see above.*)
    # Of scripts that older versions wrote: there, a node waited for node 0.
    <NODE> (?P<problem>no answer from node 0 at \S+ to \S+ on \S+): (?P<cure>.+)
sure cause: {problem}
    <NODE> (?P<problem>\d+ nodes, not \d+|port \d+ is used|it is not \w+|no address on .+?
        |its set-up stopped at: .+(?=: see software)|no program .+
        |\d+ of \d+ cores [^()]*\([^()]*\)|python3 has no torch|.+; the job asked for \d+ GPUs
        |the workspace cannot be fetched, as git says above|no /usr/bin/python3
        (?: of 3\.6 or newer)?, which the keeper needs|mpiexec takes no folder .+ name
        |no \w+ of an MPI on PATH .+?): (?P<cure>.+)
    # The same of scripts that older versions wrote.
    <NODE> (?P<problem>made for .+ nodes?, not \d+|port \d+ is in use|it is \w+, not \w+
        |no address for other nodes on interface .+?|there is no program .+|python3 cannot import[ ]
        torch|python3 does not run, or finds no torch|torch \S+ sees \d+ GPUs, the job asked for[ ]
        \d+|OpenMPI's mpiexec takes no folder .+ name): (?P<cure>.+)
    <NODE> (?P<problem>it is none of the job's hosts)
noise:
    <NODE> (?:Slurm does not requeue|enroot does not remove)
likely cause: {problem}
    # Not a keeper's word on a rank.
    <NODE> (?!(?:local )?rank \d|.*\bended with status )(?P<problem>(?:[^:]|:\S)+): (?P<cure>.+)
sure cause: Slurm's prolog failed on this node
    ^s(?:alloc|run|batch): (?:error: )?Prolog (?:failure|error|hung) on node (?P<node>\S+)
"""
EXPLAINS = "scheduler-limit srun-step cancelled launcher-report import port-in-use program-missing"
