"""The nodes cannot reach one another over the network interface in use.

NCCL and gloo choose an interface for their first contact. Without a choice of yours, NCCL takes the
first that is not loopback or docker's; gloo takes the one to which the host's own name resolves. On
many clusters that is 127.0.0.1 or 127.0.1.1 (from /etc/hosts), a bridge of docker (172.17.0.1), or
a network for management that has no way to the other nodes. A name in NCCL_SOCKET_IFNAME or
GLOO_SOCKET_IFNAME that the node does not have fails as well: `Bootstrap : no socket interface
found`, `Unable to find address for: ib0`, or an address of an impossible family (`neither
AF_INET(2) nor AF_INET6(10)`).

`No route to host` and `Connection timed out` to an address that is the right one are a firewall:
NCCL and gloo use ports that the kernel chooses, so all ports between the nodes have to be open.

The line about AF_INET can also come from nodes that have different versions of NCCL. jobgen's
network.interface sets the variables of NCCL and gloo on every node, and the roll call of the script
checks the address before the ranks start.

Cure: name an interface that every node has and that reaches the others: --set
network.interface=NAME (`ip -br address` lists them); no firewall may be between

Not this: "report this issue to the NCCL developers", and the lines after the first

Sources: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-socket-ifname
https://docs.pytorch.org/docs/stable/distributed.html#choosing-the-network-interface-to-use
https://github.com/NVIDIA/nccl/blob/master/src/bootstrap.cc
https://github.com/NVIDIA/nccl/issues/1837
https://github.com/NVIDIA/nccl/issues/1105
https://github.com/sgl-project/sglang/issues/3820
"""

SIGNS = r"""
NOWHERE = (?:No route to host|Connection timed out|Network is unreachable|Invalid argument
        |Software caused connection abort|Cannot assign requested address)
ONLY_HERE = (?:127\.[\d.]+|169\.254\.[\d.]+|172\.1[78]\.\d+\.\d+|::1|fe80:[^\s<\]]*)
sure cause: NCCL found no network interface that it may use
    Bootstrap : no (?:socket|NCCL_SOCKET_IFNAME) interface found
    NET/Socket : No usable listening interface found|NET/IB : No IP interface found
    no device found (?:matching|after excluding) .*verify NCCL_OOB_NET_IFNAME
likely cause: NCCL found no network interface that it may use
    socket\S*:\d+ (?:NCCL )?WARN \S*: ?Socket creation failed : Address family not supported
    WARN Socket creation failed : Address family not supported
likely report: NCCL had no address of the other rank, as if its interface did not exist
    connecting to address .*with family \d+ is neither AF_INET\(
sure cause: it has no interface {interface} with an address, which GLOO_SOCKET_IFNAME names
    Unable to find address for:? (?P<interface>[\w.@-]+)
likely confirmation if failed: its own host name leads to no address of its own, and gloo uses
        loopback
    Unable to resolve hostname to a \(local\) address
likely report: gloo tried to reach another rank at {peer}, which is reachable on its own node only
    gloo/transport/tcp/\S+\].*remote=\[(?P<peer><ONLY_HERE>)\]
    gloo/transport/tcp/\S+\].*connect \[(?P<peer><ONLY_HERE>)\]:\d+: .*refused
likely report: gloo cannot reach {peer}
    gloo/transport/tcp/\S+\].*(?:<NOWHERE>).*remote=\[(?P<peer>[^\]]+)\]
    gloo/transport/tcp/\S+\].*connect(?: \[(?P<peer>[^\]]+)\]:\d+)?: <NOWHERE>
likely report: gloo chose addresses of IPv4 on some nodes, and of IPv6 on others
    enforce fail at .*ss1\.ss_family == ss2\.ss_family
    transport/tcp/\S+\] address family mismatch
possible report: gloo cannot reach all other ranks
    Gloo connectFullMesh failed with[ ]
likely report: NCCL tried to reach another rank at {peer}, which is reachable on its own node only
    (?:NCCL WARN|socket\w+:|Net :) .*[Cc]onnect to (?P<peer><ONLY_HERE>)<\d+>
likely report: NCCL cannot reach {peer}: a wrong interface, or a firewall
    [Cc]onnect to (?P<peer>[^\s<]+)<\d+> (?:failed : |returned (?:\d+\()?)<NOWHERE>
likely report: NCCL cannot reach another rank: a wrong interface, or a firewall
    \bconnect(?: to (?P<peer>[^\s<]+)<\d+>)? returned <NOWHERE>, (?:exceeded
        |retrying \((?P<last>\d+)/(?P=last)\))
    socket(?:Start|Poll)Connect: exceeded timeouts \(
    WARN Call to connect(?: to (?P<peer>[^\s<]+)<\d+>)? (?:failed|returned) : <NOWHERE>
sure cause: it has no interface in the network of {peer}
    No interface found in the same subnet as remote address (?P<peer>[^\s<]+)
possible report: MPI used an interface that another one answers
    Open MPI accepted a TCP connection from what appears to be
"""
EXPLAINS = "peer-lost collective-timeout silent-hang rendezvous"
TRAITS = "setup"
