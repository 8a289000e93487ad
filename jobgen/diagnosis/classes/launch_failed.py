"""A launcher cannot start processes on a node: mpirun, mpiexec, ssh, pdsh, pbsdsh or pbs_tmrsh.

The ranks on that node never began. mpirun and PBS need their daemon there; deepspeed, pdsh and
hydra go by ssh.

Frequent: no key for ssh, or the host's key is unknown; a firewall; the name of a host that is not
in the job; more processes than mpirun has slots; mpirun of another installation on the node (PATH
is not the same there).

What misleads: mpirun's long text, which lists five possible reasons and means one of them. The
other nodes then wait for the missing ones until their rendezvous times out.

The cure: start by the scheduler and not by ssh: jobgen uses srun on Slurm and pbs_tmrsh on PBS
(`launch.starter`).

Sources: https://github.com/open-mpi/ompi/issues/11936
https://github.com/kubeflow/mpi-operator/issues/152
https://github.com/openpbs/openpbs/blob/master/src/cmds/pbs_tmrsh.c
https://man.openbsd.org/ssh
"""

from jobgen.diagnosis.signs import Role, Sign

SIGNS = (
    Sign(
        r"^(?:ORTE|PRTE|PMIX) was unable to reliably start one or more daemons",
        "mpirun could not start its daemon on a node",
    ),
    Sign(
        r"^An ORTE daemon has unexpectedly failed after launch",
        "mpirun's daemon on a node ended at once",
    ),
    Sign(
        r"^There are not enough slots available in the system to satisfy the (?P<slots>\d+)",
        "mpirun was asked for {slots} processes, more than it has slots",
    ),
    Sign(
        r"^All nodes which are allocated for this job are already filled",
        "mpirun was asked for more processes than it has slots",
    ),
    Sign(
        r"^(?:(?P<node>[\w.-]+): )?Host key verification failed\.?$",
        "ssh does not know the key of a node",
    ),
    Sign(
        r"^(?:(?P<node>[\w.-]+): )?(?:\S+@(?P<host>\S+): )?Permission denied \((?:publickey"
        r"|[\w,-]*publickey[\w,-]*)\)",
        "ssh to {host} is not allowed without a password",
        needs_failure=True,
    ),
    Sign(
        r"^(?:(?P<teller>[\w.-]+): )?ssh: connect to host (?P<node>\S+) port \d+: (?P<reason>.+)",
        "ssh does not reach this node: {reason}",
        needs_failure=True,
    ),
    Sign(
        r"^(?:(?P<teller>[\w.-]+): )?ssh: Could not resolve hostname (?P<host>\S+?):"
        r" (?P<reason>.+)",
        "ssh does not know the host {host}: {reason}",
        needs_failure=True,
    ),
    Sign(
        r"^pdsh@[^:]+: (?P<node>[\w.-]+): (?:mcmd|connect): (?P<reason>.+)",
        "pdsh does not reach this node: {reason}",
    ),
    Sign(
        r"^pbs_tmrsh: host \"(?P<host>[^\"]+)\" is not a node in job",
        "pbs_tmrsh was given {host}, which is not in the job as it is spelt",
    ),
    Sign(
        r"^pbs_tmrsh: tm_(?:spawn|poll\(spawn\)): host \"(?P<node>[^\"]+)\" err (?P<reason>.+)",
        "PBS could not start a process on this node: {reason}",
    ),
    Sign(
        r"^(?:pbs_tmrsh|pbsdsh): (?:not executing under PBS|PBS jobid not in environment"
        r"|cannot find PBS_NODEFILE)",
        "it was started outside of a PBS job",
    ),
    Sign(
        r"^pbsdsh: (?:spawn failed on node (?P<number>\d+) err (?P<reason>.+)|tm_init failed.+)",
        "PBS could not start a process on node number {number}: {reason}",
    ),
    Sign(
        r"^\[mpiexec@[^]]+\] HYDU_create_process \(.*\): execvp error on file (?P<program>\S+)",
        "mpiexec cannot run {program}",
    ),
    Sign(
        r"^\[mpiexec@[^]]+\] check_exit_codes \(.*\): unable to run (?P<program>\S+) on"
        r" (?P<node>\S+)",
        "mpiexec cannot start its proxy on this node",
    ),
    Sign(
        r"^pbs_tmrsh: (?:obit|tm_poll\(obit\)): host \"(?P<node>[^\"]+)\" err",
        "PBS lost the process on this node",
        Role.TEARDOWN,
    ),
)
CURE = "start by the scheduler and not by ssh: jobgen uses srun or pbs_tmrsh (launch.starter)"
MISLEADS = "the other nodes' rendezvous, which waits for the nodes that never began"
EXPLAINS = ("rendezvous", "launcher-report", "peer-lost", "cancelled")
