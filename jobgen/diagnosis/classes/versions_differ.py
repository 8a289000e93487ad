"""The nodes have different versions of NCCL, its plugins, torch or the driver.

All ranks of a job have to use the same NCCL. Different ones come from another module or container
on some nodes, an LD_LIBRARY_PATH that is set on one only, an image that was pulled again under the
same tag, or a plugin (libnccl-net.so) that only some nodes have. Newer versions say so (`Mismatched
NCCL version detected`, `NCCL version mismatch with remote peer`); older ones fail in the exchange
of their first messages (`wrong type 4 != 3`, `Message truncated : received 256 bytes instead of
4`), say that an address has an impossible family, or hang. Variables of NCCL that only some nodes
have do the same.

Decisive: the versions per node. NCCL prints its version on rank 0 alone with NCCL_DEBUG=VERSION, on
all with INFO. Scripts of jobgen print one line per node with the versions of torch, NCCL and the
driver, and say at once when they differ.

Cure: give all nodes the same image (by digest) or environment, and the same variables: --set
software.container.image=… or --set software.venv=… on a shared file system

Not this: "internal error - please report this issue to the NCCL developers"

Sources: https://github.com/NVIDIA/nccl/blob/master/src/init.cc
https://github.com/NVIDIA/nccl/blob/master/src/misc/socket.cc
https://github.com/NVIDIA/nccl/issues/1328
https://github.com/NVIDIA/nccl/issues/1634
https://github.com/NVIDIA/nccl-tests/issues/188
"""

SIGNS = r"""
sure report: ranks {first} and {second} have different versions of NCCL: {one} and {other}
    Mismatched NCCL version detected : rank (?P<first>\d+) version (?P<one>\d+) rank[ ]
        (?P<second>\d+) version (?P<other>\d+)
sure report: it and {peer} have different versions of NCCL: {one} and {other}
    NCCL version mismatch with remote peer (?P<peer>[^\s<]+).*\(local: (?P<one>\d+), remote[ ]
        (?P<other>\d+)
possible report: another NCCL than this one connected: different versions, or another job
    socketFinalizeAccept.*: wrong type \d+ != \d+
possible report: two ranks exchanged different first messages: different versions or variables of
        NCCL
    Message truncated : received [\d,]+ bytes instead of [\d,]+
sure report: the nodes have different numbers of network adapters
    Detected mixed local (?:Net|CollNet) device counts across ranks
possible confirmation if failed: the nodes differ: {what}
    jobgen: the nodes differ: (?P<what>.+)
"""
EXPLAINS = "peer-lost collective-timeout silent-hang wrong-interface"
TRAITS = "setup"
