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

Cure: find the rank that does not wait (its last line; --stall MINUTES prints all stacks): it is
busy, stuck or dead; a longer timeout alone seldom helps

Not this: the ranks whose watchdog complains: they waited for another one

Sources: https://github.com/pytorch/pytorch/blob/main/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp
https://github.com/pytorch/gloo/blob/main/gloo/transport/tcp/unbound_buffer.cc
https://github.com/pytorch/pytorch/issues/83289
https://github.com/NVIDIA/nccl/issues/849
https://github.com/bytedance/HLLM/issues/20
"""

SIGNS = r"""
likely report: it waited for the others in a collective ({operation}), until the timeout
    # With the rank or the number: without them it is prose. A line may end after the colon.
    (?:\[[Rr]ank \d+\]|ProcessGroup\w+\.cpp:\d+\]).*aught collective operation timeout:
        (?:$| (?:Work\w+\()?(?:SeqNum=(?P<sequence>\d+), )?(?:OpType=(?P<operation>\w+))?
        (?:, NumelIn=(?P<size>\d+))?)|aught collective operation timeout: Work\w+\((?:SeqNum=\d
        |OpType=\w+, )
    \bWork\w+\(.*OpType=(?P<operation>\w+).*\) timed out in blocking wait
likely report: it waited for the others in a collective, until the timeout
    Timeout at NCCL work: (?P<sequence>\d+), last enqueued
    Received a (?:dump signal due to a collective timeout|timeout signal) from +this local rank
sure consequence: another rank's collective timed out
    Received a dump signal due to a collective timeout from +rank \d+
likely report: it waited for another rank in a collective of gloo, until the timeout
    \bTimed out waiting \d+ms for (?:recv|send) operation to complete
    \] Application timeout caused pair closure
sure cause: it did not come to the barrier in time
    \bRank (?P<rank>\d+) failed to pass monitoredBarrier in \d+ ms
sure report: the ranks {ranks} did not come to the barrier in time
    \bRanks (?P<ranks>\d[\d, ]*) failed to pass monitoredBarrier in \d+ ms
likely report: it waited for rank {peer_rank} before the first collective, until the timeout
    <UNIQUE_ID>.* got (?:error|exception): (?:Socket Timeout|Timeout waiting|wait timeout)
possible report: it waited for a key that another rank sets, until the timeout
    (?:DistStoreError|RuntimeError): (?:wait timeout after \d+ms, keys: (?!\S*torchelastic)
        |barrier timeout after \d+ms|Socket Timeout`?$|Timeout waiting for key: )
sure consequence: the watchdog found the failed collective
    Exception \(either an error or timeout\) detected by watchdog at work
    failure detected by watchdog at work sequence id: \d+ PG status: last enqueued
sure consequence: the barrier failed on rank 0
    successfully reached monitoredBarrier, but received errors while waiting
sure consequence: the watchdog ends the process
    Some NCCL operations have failed or timed out\. Due to the asynchronous
    avoid data inconsistency, we are taking the entire process down
sure consequence: another rank's collective timed out
    Observed flight recorder dump signal from another rank
"""
EXPLAINS = "peer-lost"
TRAITS = "waiting peers gpu"
