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

Cure: move long work of one rank out of the loop, or let the others wait in a barrier of gloo with
its own timeout; give all ranks the same number of batches. `jobgen … --stall MINUTES` prints every
rank's Python stack while the job hangs.

Sources:
https://github.com/pytorch/pytorch/blob/main/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp
https://github.com/pytorch/gloo/blob/main/gloo/transport/tcp/unbound_buffer.cc
https://github.com/pytorch/pytorch/issues/83289
https://github.com/NVIDIA/nccl/issues/849
https://github.com/bytedance/HLLM/issues/20
"""

from __future__ import annotations

from jobgen.diagnosis.signs import Role, Sign

_UNIQUE_ID = r"setting up NCCL communicator and retr\w+ ncclUniqueId from \[(?P<peer_rank>\d+)\]"

SIGNS = (
    Sign(
        # With the rank or the number: without them it is prose. A line may end after the colon.
        r"(?:\[[Rr]ank \d+\]|ProcessGroup\w+\.cpp:\d+\]).*aught collective operation timeout:"
        r"(?:$| (?:Work\w+\()?(?:SeqNum=(?P<sequence>\d+), )?(?:OpType=(?P<operation>\w+))?"
        r"(?:, NumelIn=(?P<size>\d+))?)"
        r"|aught collective operation timeout: Work\w+\((?:SeqNum=\d|OpType=\w+, )",
        "it waited for the others in a collective ({operation}), until the timeout",
        certainty="likely",
        reporter=True,
    ),
    Sign(
        r"Timeout at NCCL work: (?P<sequence>\d+), last enqueued",
        "it waited for the others in a collective, until the timeout",
        certainty="likely",
        reporter=True,
    ),
    Sign(
        r"\bWork\w+\(.*OpType=(?P<operation>\w+).*\) timed out in blocking wait",
        "it waited for the others in a collective ({operation}), until the timeout",
        certainty="likely",
        reporter=True,
    ),
    Sign(
        r"Received a (?:dump signal due to a collective timeout|timeout signal) "
        r"from +this local rank",
        "it waited for the others in a collective, until the timeout",
        certainty="likely",
        reporter=True,
    ),
    Sign(
        r"Received a dump signal due to a collective timeout from +rank \d+",
        "another rank's collective timed out",
        Role.CONSEQUENCE,
        reporter=True,
    ),
    Sign(
        r"\bTimed out waiting \d+ms for (?:recv|send) operation to complete",
        "it waited for another rank in a collective of gloo, until the timeout",
        certainty="likely",
        reporter=True,
    ),
    Sign(
        r"\] Application timeout caused pair closure",
        "it waited for another rank in a collective of gloo, until the timeout",
        certainty="likely",
        reporter=True,
    ),
    Sign(
        r"\bRank (?P<rank>\d+) failed to pass monitoredBarrier in \d+ ms",
        "it did not come to the barrier in time",
    ),
    Sign(
        r"\bRanks (?P<ranks>\d[\d, ]*) failed to pass monitoredBarrier in \d+ ms",
        "the ranks {ranks} did not come to the barrier in time",
        reporter=True,
    ),
    Sign(
        _UNIQUE_ID + r".* got (?:error|exception): (?:Socket Timeout|Timeout waiting|wait timeout)",
        "it waited for rank {peer_rank} before the first collective, until the timeout",
        certainty="likely",
        reporter=True,
    ),
    Sign(
        r"(?:DistStoreError|RuntimeError): (?:wait timeout after \d+ms, keys: (?!\S*torchelastic)"
        r"|barrier timeout after \d+ms|Socket Timeout`?$|Timeout waiting for key: )",
        "it waited for a key that another rank sets, until the timeout",
        certainty="possible",
        reporter=True,
    ),
    Sign(
        r"Exception \(either an error or timeout\) detected by watchdog at work",
        "the watchdog found the failed collective",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"successfully reached monitoredBarrier, but received errors while waiting",
        "the barrier failed on rank 0",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"Some NCCL operations have failed or timed out\. Due to the asynchronous",
        "the watchdog ends the process",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"avoid data inconsistency, we are taking the entire process down",
        "the watchdog ends the process",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"Observed flight recorder dump signal from another rank",
        "another rank's collective timed out",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"failure detected by watchdog at work sequence id: \d+ PG status: last enqueued",
        "the watchdog found the failed collective",
        Role.CONSEQUENCE,
    ),
)

CURE = (
    "find the rank that does not wait (its last line; --stall MINUTES prints all stacks): "
    "it is busy, stuck or dead; a longer timeout alone seldom helps"
)
MISLEADS = "the ranks whose watchdog complains: they waited for another one"
EXPLAINS = ("peer-lost",)
