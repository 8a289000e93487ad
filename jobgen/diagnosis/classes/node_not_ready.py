"""A node failed its check before the start, as the job's own script says.

jobgen's scripts look at each node before they start the ranks: the address, the port, the
program, Python, torch and the GPUs. A node that is not ready writes one line: its name, what is
wrong, and what to type. The job ends at once, and these are its last lines.

`no answer` means that the node wrote nothing in time: the reason is above (a module that does not
load, a file system that does not answer), or it takes longer than `launch.join_timeout`.

What misleads: lines of other nodes that are ready; srun's own lines about the step, which come
after it.

The cure is in the line itself.

Sources: templates/machinery/node/ and templates/machinery/job/roll-call.sh of jobgen
docs/machinery.md of jobgen
"""

from jobgen.diagnosis.signs import Role, Sign

_NODE = r"^jobgen: (?P<node>[A-Za-z0-9][\w.-]*): "

SIGNS = (
    Sign(
        _NODE + r"(?P<problem>no answer)(?:, |: its set-up failed, )(?P<cure>see above.*)",
        "{problem}",
        Role.CONFIRMATION,
        certainty="likely",
    ),
    Sign(  # of scripts that older versions wrote: there, a node waited for node 0
        _NODE + r"(?P<problem>no answer from node 0 at \S+ to \S+ on \S+): (?P<cure>.+)",
        "{problem}",
        Role.CONFIRMATION,
        certainty="likely",
    ),
    Sign(
        _NODE + r"(?P<problem>\d+ nodes, not \d+|port \d+ is used|it is not \w+"
        r"|no address on .+?|no program .+|python3 has no torch|.+; the job asked for \d+ GPUs"
        r"|the workspace cannot be fetched, as git says above"
        r"|no /usr/bin/python3(?: of 3\.6 or newer)?, which the keeper needs"
        r"|mpiexec takes no folder .+ name): (?P<cure>.+)",
        "{problem}",
    ),
    Sign(  # the same of scripts that older versions wrote
        _NODE + r"(?P<problem>made for .+ nodes?, not \d+|port \d+ is in use"
        r"|it is \w+, not \w+|no address for other nodes on interface .+?"
        r"|there is no program .+|python3 cannot import torch|python3 does not run, or finds no"
        r" torch"
        r"|torch \S+ sees \d+ GPUs, the job asked for \d+"
        r"|OpenMPI's mpiexec takes no folder .+ name): (?P<cure>.+)",
        "{problem}",
    ),
    Sign(_NODE + r"(?P<problem>it is none of the job's hosts)", "{problem}"),
    Sign(
        _NODE + r"(?:Slurm does not requeue|enroot does not remove)",
        "",
        Role.NOISE,
    ),
    Sign(  # not a keeper's word on a rank
        _NODE + r"(?!(?:local )?rank \d|.*\bended with status )(?P<problem>[^:]+): (?P<cure>.+)",
        "{problem}",
        certainty="likely",
    ),
    Sign(
        r"^s(?:alloc|run|batch): (?:error: )?Prolog (?:failure|error|hung) on node (?P<node>\S+)",
        "Slurm's prolog failed on this node",
    ),
)
CURE = "{cure}"
MISLEADS = "srun's and PBS's lines about the end of the step: they come after it"
EXPLAINS = (
    "scheduler-limit",
    "srun-step",
    "cancelled",
    "launcher-report",
    "import",
    "port-in-use",
    "program-missing",
)
