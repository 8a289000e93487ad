"""Other ranks or nodes were gone; the log does not show why.

These lines are printed by ranks and agents that lived on when another one ended: `Connection closed
by peer`, `Connection reset by peer`, `ncclRemoteError`, a broken pipe to the store,
RendezvousClosedError, RendezvousConnectionError at the end of a job. They never are the cause. What
they are good for is the address: `Connection closed by remote peer 10.4.0.12<48312>` leads to the
node 10.4.0.12, and the last lines of its ranks (or the scheduler's record of it) show what
happened.

If the log has nothing else, the cause is in another file: the output of the other nodes or ranks,
the accounting of the scheduler (`sacct -j ID -o JobID,State,ExitCode,NodeList`), or the kernel's
log of that node. A process that was killed with signal 9 writes nothing. jobgen's scripts leave all
files in one folder, jobgen-logs/JOBID.

A network that drops connections looks the same, but on several pairs of nodes at once.

Cure: look at what the node or rank that is named wrote last, and at sacct or qstat -x: give `jobgen
why` all files of the job

Not this: the ranks that print it: they lived on when another one ended

Sources: https://github.com/pytorch/gloo/blob/main/gloo/transport/tcp/pair.cc
https://github.com/NVIDIA/nccl/blob/master/src/misc/socket.cc
https://github.com/pytorch/pytorch/blob/main/torch/distributed/elastic/rendezvous/dynamic_rendezvous.py
https://github.com/pytorch/pytorch/issues/116974
https://github.com/NVIDIA/nccl/issues/1612
"""

SIGNS = r"""
GONE = (?:Connection reset by peer|Broken pipe|Connection closed|Connection refused)
sure consequence: its peer {peer} had closed the connection
    Connection closed by peer \[(?P<peer>[^\]\s]+)\]
    gloo/transport/tcp/\S+\].*?\[(?P<peer>[\d.]+|[\da-fA-F:]+)\]:\d+: <GONE>
    Connection closed by remote peer(?: (?P<peer>[^\s<]+)<)?
sure consequence: the connection to its peer {peer} had broken
    Call to (?:recv from|send to|recv|send|read|write)(?: (?P<peer>[^\s<]+)<\d+>)? failed :[ ]
sure consequence: {peer} took no connection
    [Cc]onnect to (?P<peer>(?!127\.)[^\s<]+)<\d+> (?:failed : |returned (?:\d+\()?)Connection[ ]
        (?:refused|reset)
sure consequence: another rank had gone
    ncclRemoteError: A call failed possibly due to a network error or a remote process
    NCCL error: remote process exited or there was a network error
sure consequence: NCCL failed: another rank had gone, or the network
    # Without NCCL's own last error: a network, a peer that had gone, or a GPU.
    ^(?:[\w.]+\.)?(?:RuntimeError|DistBackendError): NCCL error(?: in: \S+:\d+,|:)[ ]
        (?:unhandled system error|internal error|remote process exited)
sure consequence: the agents had begun to end
    (?<!raise )\bRendezvousClosedError(?::|$|")
sure consequence: the agent that hosts the store had gone, or did not answer
    \bRendezvousConnectionError: |The connection to the C10d store has failed
sure consequence: the agent that hosts the store had gone
    The node '\S+' has failed to (?:send a keep-alive|shutdown the rendezvous)
sure consequence: the process that hosts the store had gone
    (?:sendBytes|recv(?:Value|Vector|Bytes|ValueWithTimeout)?) failed on SocketImpl\(
    Failed to (?:check the "should dump" flag|set dump signal|get|set) (?:on|in|from|to)[ ]
        (?:the )?TCPStore
    <UNIQUE_ID>.* got (?:error|exception): (?!Socket Timeout|Timeout waiting|wait timeout)
    \b[Ff]ailed to recv, got 0 bytes
    \b(?:DistNetworkError|RuntimeError|DistStoreError): (?:Connection reset by peer|Broken pipe)
sure consequence: the connection to the store had broken
    Exception raised from (?:sendBytes|recvBytes|sendAll|recvAll|recvVector) at[ ]
sure consequence: the MPI daemon of another node had gone
    ORTE has lost communication with a remote daemon
"""
TRAITS = "peers"
