"""A launcher cannot start processes on a node: mpirun, mpiexec, ssh, pdsh, pbsdsh or pbs_tmrsh.

The ranks on that node never began. mpirun and PBS need their daemon there; deepspeed, pdsh and
hydra go by ssh.

Frequent: no key for ssh, or the host's key is unknown; a firewall; the name of a host that is not
in the job; more processes than mpirun has slots; mpirun of another installation on the node (PATH
is not the same there). mpirun's long text lists five possible reasons, and means one of them.

Cure: start by the scheduler and not by ssh: jobgen uses srun or pbs_tmrsh (launch.starter)

Not this: the other nodes' rendezvous, which waits for the nodes that never began

Sources: https://github.com/open-mpi/ompi/issues/11936
https://github.com/kubeflow/mpi-operator/issues/152
https://github.com/openpbs/openpbs/blob/master/src/cmds/pbs_tmrsh.c
https://man.openbsd.org/ssh
"""

SIGNS = r"""
sure cause: mpirun could not start its daemon on a node
    ^(?:ORTE|PRTE|PMIX) was unable to reliably start one or more daemons
sure cause: mpirun's daemon on a node ended at once
    ^An ORTE daemon has unexpectedly failed after launch
sure cause: mpirun was asked for {slots} processes, more than it has slots
    ^There are not enough slots available in the system to satisfy the (?P<slots>\d+)
sure cause: mpirun was asked for more processes than it has slots
    ^All nodes which are allocated for this job are already filled
sure cause: ssh does not know the key of a node
    ^(?:(?P<node>[\w.-]+): )?Host key verification failed\.?$
sure cause if failed: ssh to {host} is not allowed without a password
    ^(?:(?P<node>[\w.-]+): )?(?:\S+@(?P<host>\S+): )?Permission denied \((?:publickey
        |[\w,-]*publickey[\w,-]*)\)
sure cause if failed: ssh does not reach this node: {reason}
    ^(?:(?P<teller>[\w.-]+): )?ssh: connect to host (?P<node>\S+) port \d+: (?P<reason>.+)
sure cause if failed: ssh does not know the host {host}: {reason}
    ^(?:(?P<teller>[\w.-]+): )?ssh: Could not resolve hostname (?P<host>\S+?): (?P<reason>.+)
sure cause: pdsh does not reach this node: {reason}
    ^pdsh@[^:]+: (?P<node>[\w.-]+): (?:mcmd|connect): (?P<reason>.+)
sure cause: pbs_tmrsh was given {host}, which is not in the job as it is spelt
    ^pbs_tmrsh: host "(?P<host>[^"]+)" is not a node in job
sure cause: PBS could not start a process on this node: {reason}
    ^pbs_tmrsh: tm_(?:spawn|poll\(spawn\)): host "(?P<node>[^"]+)" err (?P<reason>.+)
sure cause: it was started outside of a PBS job
    ^(?:pbs_tmrsh|pbsdsh): (?:not executing under PBS|PBS jobid not in environment
        |cannot find PBS_NODEFILE)
sure cause: PBS could not start a process on node number {number}: {reason}
    ^pbsdsh: (?:spawn failed on node (?P<number>\d+) err (?P<reason>.+)|tm_init failed.+)
sure cause: mpiexec cannot run {program}
    ^\[mpiexec@[^]]+\] HYDU_create_process \(.*\): execvp error on file (?P<program>\S+)
sure cause: mpiexec cannot start its proxy on this node
    ^\[mpiexec@[^]]+\] check_exit_codes \(.*\): unable to run (?P<program>\S+) on (?P<node>\S+)
teardown: PBS lost the process on this node
    ^pbs_tmrsh: (?:obit|tm_poll\(obit\)): host "(?P<node>[^"]+)" err
"""
EXPLAINS = "rendezvous launcher-report peer-lost cancelled"
