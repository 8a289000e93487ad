"""A port is used by another process.

The head's store listens on one port of the node (29500, unless the job says otherwise). Another job
on the same node, a process that an earlier job left behind, or a second store in the same job has
it: `errno: 98 - Address already in use`, EADDRINUSE. The second store is common: each rank believes
that it is rank 0 (started without torchrun's variables), or the program opens a store at
MASTER_PORT where torchrun listens already.

The other nodes then time out on their way to the head, or reach the other job's store. The line
about errno 97 (Address family not supported) is harmless: IPv6 is off, and IPv4 is used.

On nodes that jobs share, jobgen computes the port from the job's number. `ss -ltnp "sport = :PORT"`
on the node shows whose it is.

Cure: take another port: --set network.port=N (submitting again helps where jobgen computes it)

Not this: the time-outs of the other nodes, which found no head

Sources: https://github.com/pytorch/pytorch/blob/main/torch/csrc/distributed/c10d/socket.cpp
https://github.com/pytorch/pytorch/issues/73320
https://github.com/pytorch/pytorch/issues/85604
https://github.com/meta-pytorch/torchtune/issues/1025
"""

SIGNS = r"""
sure cause: port {port} is used by another process
    failed to listen on any local network address\..*?(?:\]|port|\d): ?(?P<port>\d+).*
        (?:EADDRINUSE|Address already in use)
    Tried to launch distributed communication on port `?(?P<port>\d+)`?, but another process
sure cause: its port is used by another process
    failed to listen on any local network address\..*(?:EADDRINUSE|Address already in use)
likely confirmation if failed: port {port} is used by another process
    server socket has failed to (?:bind|listen) (?:to|on) \S*:(?P<port>\d+) \(errno: (?:98|48
        |10048) -[ ]
possible confirmation: its port is used by another process
    \[E.*failed to listen on any local network address\.$
likely cause: its port is used by another process
    Error: The server socket has failed to listen on any local(?: network(?: address\.?)?)?\s*$
# IPv6 is off, and IPv4 is used.
noise:
    server socket cannot be initialized on \S+ \(errno: 97 -[ ]
    The server socket has failed to (?:bind|listen) .*\(errno: 97 -[ ]
likely cause if failed: a port is used by another process
    ^(?:[\w.]+\.)?(?:RuntimeError|OSError|DistNetworkError|ZMQError|error):[ ]
        (?:\[Errno (?:98|48)\] )?(?:[Ee]rror while attempting to bind on address .*)?[Aa]ddress[ ]
        already in use
likely cause if failed: port {port} is used by another process
    ^(?:[\w.]+\.)?OSError: \[Errno (?:98|48)\] .*port (?P<port>\d+)
"""
EXPLAINS = "rendezvous peer-lost collective-timeout"
