"""A collective did not end in time.

Every rank of a process group has to come to a collective. If one is busy elsewhere (a long
checkpoint, an evaluation on rank 0 alone, a slow data loader), stuck, or no longer alive, the
others wait. After the timeout (10 minutes for NCCL, 30 for gloo) the watchdog of each rank that
waits prints `Watchdog caught collective operation timeout` and ends its process with signal 6.

The ranks that print it are those that waited. The rank to look for is the one that does not
complain, or whose numbers differ: `last enqueued` is equal to `last completed`, or is lower than
the others'. Look at what it printed last, and at what the others' stacks wait for. gloo's monitored
barrier names it: `Rank 3 failed to pass monitoredBarrier`.

A longer timeout helps only where the slow part is on purpose, and ends. Otherwise it makes the job
hang longer before it fails. An earlier failure of one rank (no memory, an exception) has the same
look on the others: it is the cause, and this is what follows from it.

Move long work of one rank out of the loop, or let the others wait in a barrier of gloo with its own
timeout; give all ranks the same number of batches.

Sources: https://github.com/pytorch/pytorch/blob/main/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp
https://github.com/pytorch/gloo/blob/main/gloo/transport/tcp/unbound_buffer.cc
https://github.com/pytorch/pytorch/issues/83289
https://github.com/NVIDIA/nccl/issues/849
https://github.com/bytedance/HLLM/issues/20
"""

from jobgen.diagnosis.signs import UNIQUE_ID, likely, possible, sure

SIGNS = (
    *likely.report(
        "it waited for the others in a collective ({operation}), until the timeout",
        # With the rank or the number: without them it is prose. A line may end after the colon.
        r"(?:\[[Rr]ank \d+\]|ProcessGroup\w+\.cpp:\d+\]).*aught collective operation timeout:"
        r"(?:$| (?:Work\w+\()?(?:SeqNum=(?P<sequence>\d+), )?(?:OpType=(?P<operation>\w+))?"
        r"(?:, NumelIn=(?P<size>\d+))?)"
        r"|aught collective operation timeout: Work\w+\((?:SeqNum=\d|OpType=\w+, )",
        r"\bWork\w+\(.*OpType=(?P<operation>\w+).*\) timed out in blocking wait",
    ),
    *likely.report(
        "it waited for the others in a collective, until the timeout",
        r"Timeout at NCCL work: (?P<sequence>\d+), last enqueued",
        r"Received a (?:dump signal due to a collective timeout|timeout signal) "
        r"from +this local rank",
    ),
    *sure.consequence(
        "another rank's collective timed out",
        r"Received a dump signal due to a collective timeout from +rank \d+",
    ),
    *likely.report(
        "it waited for another rank in a collective of gloo, until the timeout",
        r"\bTimed out waiting \d+ms for (?:recv|send) operation to complete",
        r"\] Application timeout caused pair closure",
    ),
    *sure.cause(
        "it did not come to the barrier in time",
        r"\bRank (?P<rank>\d+) failed to pass monitoredBarrier in \d+ ms",
    ),
    *sure.report(
        "the ranks {ranks} did not come to the barrier in time",
        r"\bRanks (?P<ranks>\d[\d, ]*) failed to pass monitoredBarrier in \d+ ms",
    ),
    *likely.report(
        "it waited for rank {peer_rank} before the first collective, until the timeout",
        rf"{UNIQUE_ID}.* got (?:error|exception): (?:Socket Timeout|Timeout waiting|wait timeout)",
    ),
    *possible.report(
        "it waited for a key that another rank sets, until the timeout",
        r"(?:DistStoreError|RuntimeError): (?:wait timeout after \d+ms, keys: (?!\S*torchelastic)"
        r"|barrier timeout after \d+ms|Socket Timeout`?$|Timeout waiting for key: )",
    ),
    *sure.consequence(
        "the watchdog found the failed collective",
        r"Exception \(either an error or timeout\) detected by watchdog at work",
        r"failure detected by watchdog at work sequence id: \d+ PG status: last enqueued",
    ),
    *sure.consequence(
        "the barrier failed on rank 0",
        r"successfully reached monitoredBarrier, but received errors while waiting",
    ),
    *sure.consequence(
        "the watchdog ends the process",
        r"Some NCCL operations have failed or timed out\. Due to the asynchronous",
        r"avoid data inconsistency, we are taking the entire process down",
    ),
    *sure.consequence(
        "another rank's collective timed out",
        r"Observed flight recorder dump signal from another rank",
    ),
)
CURE = (
    "find the rank that does not wait (its last line; --stall MINUTES prints all stacks): it is"
    " busy, stuck or dead; a longer timeout alone seldom helps"
)
MISLEADS = "the ranks whose watchdog complains: they waited for another one"
EXPLAINS = "peer-lost"
TRAITS = "waiting peers gpu"
