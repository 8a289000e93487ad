"""The scheduler or the launcher lost a node of the job.

The machine crashed or was rebooted, its network failed, or its daemon (slurmd, pbs_mom, orted,
raylet) ended.

One sees `Node failure on NODE` from srun, `DUE TO NODE FAILURE` from slurmstepd, `SISTER_EOF` on
PBS, `ORTE has lost communication with a remote daemon`. The name after ON in slurmstepd's line is
a node that still lives and wrote the line; the lost one is in srun's line, or in the scheduler's
own logs (`sinfo -R`, `sacct`).

What misleads: on the other nodes ranks lose their connections first, often minutes before the
scheduler notices, and their timeouts look like a network's fault.

The cure: `--requeue` runs the job again on other nodes; `-N MIN:MAX` lets it go on with fewer.
Report the node to the site's staff.

Sources: https://slurm.schedmd.com/sbatch.html#OPT_requeue
https://github.com/SchedMD/slurm/blob/master/src/api/step_launch.c (_node_fail_handler)
https://github.com/open-mpi/ompi/issues/6618
https://github.com/kubeflow/mpi-operator/issues/152
https://github.com/adaptivecomputing/torque/blob/master/src/resmom/mom_main.c
"""

from jobgen.diagnosis.signs import FAILED_FIRST, Role, Sign

_SAYS = "the scheduler lost this node"
_SOME = "the scheduler lost a node of the job"

SIGNS = (
    Sign(r"^s(?:run|alloc): error: Node failure on (?P<node>\S+)", _SAYS),
    Sign(r"CANCELLED AT \S+ DUE TO NODE FAILURE", _SOME, Role.CONFIRMATION),
    Sign(
        FAILED_FIRST + r"it no longer answers",
        "this node no longer answers",
        Role.CONFIRMATION,
        certainty="likely",
    ),
    Sign(
        r"^srun: error: (?:Aborting, can not test connection to|Cannot communicate with"
        r"|Aborting, (?:io error and missing step|step missing and io error) on) node \d+",
        "srun lost the daemon of a node",
    ),
    Sign(
        r"^srun: error: \w*: ?aborting, io error with slurmstepd on node \d+",
        "srun lost the daemon of a node",
    ),
    Sign(
        r"^=>> PBS: job killed: node \d+ \((?P<node>[\w.-]+)\) requested job (?:die|terminate),"
        r" '?EOF",
        "PBS lost this node",
    ),
    Sign(
        r"^(?:ORTE|PRTE) has lost communication with (?:a remote|its) daemon",
        "mpirun lost its daemon on a node",
        certainty="likely",
    ),
    Sign(
        r"^\s*Remote daemon: \[\[?\w[^ ]* on node (?P<node>[\w.-]+)$",
        "mpirun lost its daemon on this node",
        Role.CONFIRMATION,
        certainty="likely",
    ),
    Sign(
        r"^\[mpiexec@[^]]+\] control_cb \(.*\): connection to proxy \d+ at host (?P<node>\S+)"
        r" failed",
        "mpiexec lost its proxy on this node",
        certainty="likely",
    ),
    Sign(
        r"node with node id: \w+ and address: (?P<peer>\S+?)(?: and node name: \S+)? has been"
        r" marked dead because the detector has missed too many heartbeats",
        "Ray lost the node {peer}",
        certainty="likely",
    ),
    Sign(r"^job preempted \(node failure\)\s*$", _SOME),  # a mail of Torque and Moab
    Sign(r"^sacct: State=(?:NODE_FAIL|BOOT_FAIL) JobID=\d+(?:_\d+)? ", _SOME, Role.CONFIRMATION),
    Sign(r"\bJobState=(?:NODE_FAIL|BOOT_FAIL) Reason=", _SOME, Role.CONFIRMATION),
    Sign(
        r"^qstat: Exit_status=(?:-20|-14) ",
        "PBS lost the connection to a node of the job",
        Role.CONFIRMATION,
    ),
    Sign(
        r"Worker exit detail: Owner's node has crashed|The actor died because its node has died",
        "Ray lost a node of the job",
        Role.CONFIRMATION,
        certainty="likely",
    ),
)
CURE = "submit with --requeue, so that it runs again on other nodes; tell the site's staff the node"
MISLEADS = "timeouts and broken connections on the other nodes: they waited for the lost one"
EXPLAINS = (
    "cancelled",
    "killed",
    "peer-lost",
    "collective-timeout",
    "launcher-report",
    "srun-step",
)
