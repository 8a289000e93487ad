"""The agents or ranks did not find one another at the start.

Before the first collective every process connects to one store (a TCP port on the head node), and
all have to be there within a time limit. It fails when nobody listens there (the head's torchrun
was not started, or ended at once), when the address or port is another one on some nodes, when a
firewall is between, when fewer nodes were started than `--nnodes` says, when the nodes use
different `--rdzv-id` (the line `generated a random run_id` on several nodes), or when some nodes
are much later than others.

Decisive: does the client time out on the head node as well? Then nobody listens there. Only on the
others? Then it is the way to it: name, interface, firewall. `1/3 clients joined` counts who came.

torchrun in a batch script without srun, pbsdsh or mpiexec starts on the first node alone, and waits
for the others until the end (`jobgen lint` finds that: JG101). A MASTER_ADDR that is not set means
that the program was started without torchrun, or without the variables that its launcher would set.

RendezvousConnectionError at the end of a job that had trained is what follows from an earlier
failure. Scripts of jobgen check the way to the head first, and say which node has no answer.

Cure: start one agent on every node, all with the same address, port and --rdzv-id: scripts of
jobgen do; where nodes come late, --set launch.join_timeout=SECONDS

Not this: the traceback of torch.distributed.elastic, and RendezvousConnectionError below it

Sources: https://github.com/pytorch/pytorch/blob/main/torch/csrc/distributed/c10d/socket.cpp
https://github.com/pytorch/pytorch/blob/main/torch/csrc/distributed/c10d/TCPStore.cpp
https://github.com/pytorch/pytorch/issues/67581
https://github.com/pytorch/pytorch/issues/107021
https://github.com/ymcui/Chinese-LLaMA-Alpaca-2/issues/274
https://github.com/OpenRLHF/OpenRLHF/issues/1040
"""

SIGNS = r"""
ADDRESS = \(?\[?(?P<peer>[\w.-]+|[\da-fA-F:]+)\]?(?:, |:)(?P<port>\d+)\)?
likely report: nobody answered at {peer} port {port}
    (?:\[c10d\] |Error: )The client socket has timed out after \w+ while trying to connect to[ ]
        <ADDRESS>
likely report: it could not connect to {peer} port {port}
    The client socket has failed to connect to any network address of <ADDRESS>
likely late report if failed: it could not connect to {peer} port {port}: {reason}
    The client socket has failed to connect to <ADDRESS> \(errno: \d+ - (?P<reason>No route to host
        |Connection timed out|Network is unreachable)\)
# It tries again to connect.
noise:
    The client socket has failed to connect to .*\(errno: (?:111|104|22|97) -[ ]
sure report: only {joined} of {all} ranks came to the start
    Timed out after \d+ seconds waiting for (?:clients|workers)\. (?P<joined>\d+)/(?P<all>\d+)[ ]
        (?:clients|workers) joined
sure report: {joined} of {all} ranks came to the start
    Timed out initializing process group in store based barrier on rank.*\(world_size=
        (?P<all>\d+), (?:num_workers_joined|worker_count)=(?P<joined>\d+)
likely report: not all nodes came to the start in time
    (?<!raise )\bRendezvousTimeoutError(?::|$)
likely report: not all agents came to the start in time
    wait timeout after \d+ms, keys: \S*torchelastic(?!/agent/terminal)
likely report: nobody answered at {peer} port {port}
    TCP client failed to connect/validate to host (?P<peer>\S+):(?P<port>\d+) - timed out
likely report: the head did not answer
    (?:Error|error): connect\(\) timed out\. Original timeout was \d+ ms
possible report: not all ranks came to the start in time
    ^RuntimeError: Wait timeout$
sure cause: the program was started without {variable}, which torchrun would set
    environment variable (?P<variable>\w+) expected, but not set\s*$
sure report: not all processes of JAX came to the start in time
    DEADLINE_EXCEEDED: Barrier timed out\. (?:Barrier_id|Id): \S*
        (?:Client_Connect|Wait_for_all_tasks_to_register)
"""
EXPLAINS = "peer-lost collective-timeout silent-hang"
TRAITS = "setup peers"
