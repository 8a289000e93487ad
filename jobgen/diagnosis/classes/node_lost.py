"""The scheduler or the launcher lost a node of the job.

The machine crashed or was rebooted, its network failed, or its daemon (slurmd, pbs_mom, orted,
raylet) ended.

One sees `Node failure on NODE` from srun, `DUE TO NODE FAILURE` from slurmstepd, `SISTER_EOF` on
PBS, `ORTE has lost communication with a remote daemon`. The name after ON in slurmstepd's line is
a node that still lives and wrote the line; the lost one is in srun's line, or in the scheduler's
own logs (`sinfo -R`, `sacct`).

The ranks on other nodes lose their connections first, often minutes before the scheduler notices,
and it looks like a network's fault. `-N MIN:MAX` lets the job go on with fewer nodes.

Cure: submit with --requeue, so that it runs again on other nodes; tell the site's staff the node

Not this: timeouts and broken connections on the other nodes: they waited for the lost one

Sources: https://slurm.schedmd.com/sbatch.html#OPT_requeue
https://github.com/SchedMD/slurm/blob/master/src/api/step_launch.c (_node_fail_handler)
https://github.com/open-mpi/ompi/issues/6618
https://github.com/kubeflow/mpi-operator/issues/152
https://github.com/adaptivecomputing/torque/blob/master/src/resmom/mom_main.c
"""

SIGNS = r"""
sure cause: the scheduler lost this node
    ^s(?:run|alloc): error: Node failure on (?P<node>\S+)
sure confirmation: the scheduler lost a node of the job
    CANCELLED AT \S+ DUE TO NODE FAILURE
    ^sacct: State=(?:NODE_FAIL|BOOT_FAIL) JobID=\d+(?:_\d+)?[ ]
    \bJobState=(?:NODE_FAIL|BOOT_FAIL) Reason=
likely confirmation: this node no longer answers
    <FAILED_FIRST>it no longer answers
sure cause: srun lost the daemon of a node
    ^srun: error: (?:Aborting, can not test connection to|Cannot communicate with
        |Aborting, (?:io error and missing step|step missing and io error) on) node \d+
    ^srun: error: \w*: ?aborting, io error with slurmstepd on node \d+
sure cause: PBS lost this node
    ^=>> PBS: job killed: node \d+ \((?P<node>[\w.-]+)\) requested job (?:die|terminate), '?EOF
likely cause: mpirun lost its daemon on a node
    ^(?:ORTE|PRTE) has lost communication with (?:a remote|its) daemon
likely confirmation: mpirun lost its daemon on this node
    ^\s*Remote daemon: \[\[?\w[^ ]* on node (?P<node>[\w.-]+)$
likely cause: mpiexec lost its proxy on this node
    ^\[mpiexec@[^]]+\] control_cb \(.*\): connection to proxy \d+ at host (?P<node>\S+) failed
likely cause: Ray lost the node {peer}
    node with node id: \w+ and address: (?P<peer>\S+?)(?: and node name: \S+)? has been marked[ ]
        dead because the detector has missed too many heartbeats
sure cause: the scheduler lost a node of the job
    # a mail of Torque and Moab
    ^job preempted \(node failure\)\s*$
sure confirmation: PBS lost the connection to a node of the job
    ^qstat: Exit_status=(?:-20|-14)[ ]
likely confirmation: Ray lost a node of the job
    Worker exit detail: Owner's node has crashed|The actor died because its node has died
"""
EXPLAINS = "cancelled killed peer-lost collective-timeout launcher-report srun-step"
