"""A host's name does not resolve to an address.

The name of the head (MASTER_ADDR, --rdzv-endpoint) is looked up on every node. getaddrinfo's error
-2 (`Name or service not known`) means that there is no such name, -3 (`Temporary failure in name
resolution`) that no name server answered. The quoted name tells more than the error: one with
brackets is Slurm's short form of several hosts (`nid[001-002]`: use `scontrol show hostnames`), an
empty one is a variable that was not set, `<…>` or `$…` is a placeholder from somebody's
documentation, and one without a domain may resolve on the login node only. A container has its own
/etc/hosts.

The same warning about IPv6 addresses is printed in jobs that go well, where the name has an address
of IPv4 alone; `The hostname of the client socket cannot be retrieved` costs only time. Scripts of
jobgen find out the head's address on the head itself, and use no names.

Cure: use a name or an address that `getent hosts NAME` finds on every node; scripts of jobgen use
the head's address on --set network.interface=NAME

Not this: the time-outs and tracebacks of torchrun below it

Sources: https://github.com/pytorch/pytorch/blob/main/torch/csrc/distributed/c10d/socket.cpp
https://github.com/pytorch/pytorch/issues/85300
https://github.com/pytorch/pytorch/issues/159007
https://github.com/nyu-systems/Grendel-GS/issues/9
https://github.com/meta-pytorch/monarch/pull/1571
"""

SIGNS = r"""
UNKNOWN = (?:Name or service not known|Temporary failure in name resolution|nodename nor servname)
NO_NAME = (?:[^,)]*[\[\]<>$\s{}][^,)]*|)
sure cause: the head's name is "{name}", which is no name of a host
    network addresses of \((?P<name><NO_NAME>), \d+\) cannot be retrieved
    trying to connect to \((?P<name><NO_NAME>), \d+\)
likely cause if failed: the name {name} has no address there
    The (?:IPv4 )?network addresses of \((?P<name>[^,]+), \d+\) cannot be retrieved \(gai error:[ ]
        (?P<code>-?\d+)
likely confirmation if failed: the name {name} has no address there
    The IPv6 network addresses of \((?P<name>[^,]+), \d+\) cannot be retrieved \(gai error:[ ]
        (?P<code>-?\d+)
sure cause: a name in NCCL_COMM_ID has no address there
    Net : error encountered when getting address info :[ ]
likely cause: the head's name has no address there
    ^ValueError: host not found: <UNKNOWN>
possible cause: a host's name has no address there
    ^(?:socket\.)?gaierror: \[Errno -?\d+\] <UNKNOWN>
possible cause if failed: a host's name has no address there
    ^(?:[\w.]+\.)?(?:RuntimeError|ValueError|OSError|DistNetworkError):[ ]
        (?!.*(?:https?:|[Mm]ax retries|huggingface)).*<UNKNOWN>
sure cause if failed: the name {name} has no address there
    ssh: Could not resolve hostname (?P<name>[^\s:]+):[ ]
sure cause: the name {name} has no address there
    (?:srun|slurmstepd|sbatch): error: .*Unable to resolve "(?P<name>[^"]+)"
sure cause: a host's name has no address there
    (?:srun|slurmstepd|sbatch): error: .*getaddrinfo\(\) failed:[ ]
# A look-up that costs only time.
noise:
    The hostname of the client socket cannot be retrieved
"""
EXPLAINS = "rendezvous peer-lost collective-timeout wrong-interface"
TRAITS = "setup"
