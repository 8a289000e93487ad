"""A port is used by another process.

The head's store listens on one port of the node (29500, unless the job says otherwise). Another job
on the same node, a process that an earlier job left behind, or a second store in the same job has
it: `errno: 98 - Address already in use`, EADDRINUSE. The second store is common: each rank believes
that it is rank 0 (started without torchrun's variables), or the program opens a store at
MASTER_PORT where torchrun listens already.

The other nodes then time out on their way to the head, or reach the other job's store. The line
about errno 97 (Address family not supported) is harmless: IPv6 is off, and IPv4 is used.

Cure: another port (`--set network.port=N`); on nodes that jobs share, jobgen computes it from the
job's number. `ss -ltnp "sport = :PORT"` on the node shows whose it is.

Sources:
https://github.com/pytorch/pytorch/blob/main/torch/csrc/distributed/c10d/socket.cpp
https://github.com/pytorch/pytorch/issues/73320
https://github.com/pytorch/pytorch/issues/85604
https://github.com/meta-pytorch/torchtune/issues/1025
"""

from __future__ import annotations

from jobgen.diagnosis.signs import Role, Sign

SIGNS = (
    Sign(
        r"failed to listen on any local network address\..*?(?:\]|port|\d): ?(?P<port>\d+).*"
        r"(?:EADDRINUSE|Address already in use)",
        "port {port} is used by another process",
    ),
    Sign(
        r"failed to listen on any local network address\..*(?:EADDRINUSE|Address already in use)",
        "its port is used by another process",
    ),
    Sign(
        r"server socket has failed to (?:bind|listen) (?:to|on) \S*:(?P<port>\d+) "
        r"\(errno: (?:98|48|10048) - ",
        "port {port} is used by another process",
        Role.CONFIRMATION,
        needs_failure=True,
        certainty="likely",
    ),
    Sign(
        r"\[E.*failed to listen on any local network address\.$",
        "its port is used by another process",
        Role.CONFIRMATION,
        certainty="possible",
    ),
    Sign(
        r"Error: The server socket has failed to listen on any local"
        r"(?: network(?: address\.?)?)?\s*$",
        "its port is used by another process",
        certainty="likely",
    ),
    Sign(
        r"server socket cannot be initialized on \S+ \(errno: 97 - ",
        "IPv6 is off, and IPv4 is used",
        Role.NOISE,
    ),
    Sign(
        r"The server socket has failed to (?:bind|listen) .*\(errno: 97 - ",
        "IPv6 is off, and IPv4 is used",
        Role.NOISE,
    ),
    Sign(
        r"Tried to launch distributed communication on port `?(?P<port>\d+)`?, but another process",
        "port {port} is used by another process",
    ),
    Sign(
        r"^(?:[\w.]+\.)?(?:RuntimeError|OSError|DistNetworkError|ZMQError|error): "
        r"(?:\[Errno (?:98|48)\] )?(?:[Ee]rror while attempting to bind on address .*)?"
        r"[Aa]ddress already in use",
        "a port is used by another process",
        needs_failure=True,
        certainty="likely",
    ),
    Sign(
        r"^(?:[\w.]+\.)?OSError: \[Errno (?:98|48)\] .*port (?P<port>\d+)",
        "port {port} is used by another process",
        needs_failure=True,
        certainty="likely",
    ),
)

CURE = "take another port: --set network.port=N (submitting again helps where jobgen computes it)"
MISLEADS = "the time-outs of the other nodes, which found no head"
EXPLAINS = ("rendezvous", "peer-lost", "collective-timeout")
