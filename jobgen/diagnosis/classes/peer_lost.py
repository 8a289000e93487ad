"""Other ranks or nodes were gone; the log does not show why.

These lines are printed by ranks and agents that lived on when another one ended: `Connection closed
by peer`, `Connection reset by peer`, `ncclRemoteError`, a broken pipe to the store,
RendezvousClosedError, RendezvousConnectionError at the end of a job. They never are the cause. What
they are good for is the address: `Connection closed by remote peer 10.4.0.12<48312>` leads to the
node 10.4.0.12, and the last lines of its ranks (or the scheduler's record of it) show what
happened.

If the log has nothing else, the cause is in another file: the output of the other nodes or ranks,
the accounting of the scheduler (`sacct -j ID -o JobID,State,ExitCode,NodeList`), or the kernel's
log of that node. A process that was killed with signal 9 writes nothing.

A network that drops connections looks the same, but on several pairs of nodes at once.

Cure: read the output of the node that is named, or give `jobgen why` the folder with all files of
the job. jobgen's scripts leave all of them in one folder, jobgen-logs/JOBID.

Sources:
https://github.com/pytorch/gloo/blob/main/gloo/transport/tcp/pair.cc
https://github.com/NVIDIA/nccl/blob/master/src/misc/socket.cc
https://github.com/pytorch/pytorch/blob/main/torch/distributed/elastic/rendezvous/dynamic_rendezvous.py
https://github.com/pytorch/pytorch/issues/116974
https://github.com/NVIDIA/nccl/issues/1612
"""

from __future__ import annotations

from jobgen.diagnosis.signs import Role, Sign

_GONE = r"(?:Connection reset by peer|Broken pipe|Connection closed|Connection refused)"
_UNIQUE_ID = r"setting up NCCL communicator and retr\w+ ncclUniqueId from \[(?P<peer_rank>\d+)\]"

SIGNS = (
    Sign(
        r"Connection closed by peer \[(?P<peer>[^\]\s]+)\]",
        "its peer {peer} had closed the connection",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"gloo/transport/tcp/\S+\].*?\[(?P<peer>[\d.]+|[\da-fA-F:]+)\]:\d+: " + _GONE,
        "its peer {peer} had closed the connection",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"Connection closed by remote peer(?: (?P<peer>[^\s<]+)<)?",
        "its peer {peer} had closed the connection",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"Call to (?:recv from|send to|recv|send|read|write)(?: (?P<peer>[^\s<]+)<\d+>)? failed : ",
        "the connection to its peer {peer} had broken",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"[Cc]onnect to (?P<peer>(?!127\.)[^\s<]+)<\d+> (?:failed : |returned (?:\d+\()?)"
        r"Connection (?:refused|reset)",
        "{peer} took no connection",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"ncclRemoteError: A call failed possibly due to a network error or a remote process",
        "another rank had gone",
        Role.CONSEQUENCE,
    ),
    # Without NCCL's own last error: a network, a peer that had gone, or a GPU.
    Sign(
        r"^(?:[\w.]+\.)?(?:RuntimeError|DistBackendError): NCCL error(?: in: \S+:\d+,|:) "
        r"(?:unhandled system error|internal error|remote process exited)",
        "NCCL failed: another rank had gone, or the network",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"NCCL error: remote process exited or there was a network error",
        "another rank had gone",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"(?<!raise )\bRendezvousClosedError(?::|$|\")",
        "the agents had begun to end",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"\bRendezvousConnectionError: |The connection to the C10d store has failed",
        "the agent that hosts the store had gone, or did not answer",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"The node '\S+' has failed to (?:send a keep-alive|shutdown the rendezvous)",
        "the agent that hosts the store had gone",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"(?:sendBytes|recv(?:Value|Vector|Bytes|ValueWithTimeout)?) failed on SocketImpl\(",
        "the process that hosts the store had gone",
        Role.CONSEQUENCE,
    ),
    Sign(
        r'Failed to (?:check the "should dump" flag|set dump signal|get|set) (?:on|in|from|to) '
        r"(?:the )?TCPStore",
        "the process that hosts the store had gone",
        Role.CONSEQUENCE,
    ),
    Sign(
        _UNIQUE_ID + r".* got (?:error|exception): (?!Socket Timeout|Timeout waiting|wait timeout)",
        "the process that hosts the store had gone",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"\b[Ff]ailed to recv, got 0 bytes",
        "the process that hosts the store had gone",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"\b(?:DistNetworkError|RuntimeError|DistStoreError): "
        r"(?:Connection reset by peer|Broken pipe)",
        "the process that hosts the store had gone",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"Exception raised from (?:sendBytes|recvBytes|sendAll|recvAll|recvVector) at ",
        "the connection to the store had broken",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"ORTE has lost communication with a remote daemon",
        "the MPI daemon of another node had gone",
        Role.CONSEQUENCE,
    ),
)

CURE = (
    "look at what the node or rank that is named wrote last, and at sacct or qstat -x: give "
    "`jobgen why` all files of the job"
)
MISLEADS = "the ranks that print it: they lived on when another one ended"
EXPLAINS = ()
