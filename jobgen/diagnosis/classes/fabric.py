"""The fabric (InfiniBand, RoCE, EFA, Slingshot) failed.

NCCL talks to InfiniBand and RoCE through verbs, and to EFA and Slingshot through libfabric. Two
times of failure: at the start, a connection cannot be set up (`ibv_modify_qp failed`: a port that
is down, a GID index that does not fit RoCE, two adapters of different networks, an adapter of
storage that NCCL took as well), or the provider finds no device (`fi_getinfo() call failed: No data
available`: /dev/infiniband is not in the container, or the plugin is missing); later, a message is
not acknowledged (`Got completion from peer … with status=12 … vendor err 129`, transport retry
exceeded), or a port goes down (`async fatal event`).

Status 12 has two ends and a way between: a cable, a switch or an adapter, or the rank there that
was gone. From one end it cannot be told which. The line has the peer's address, and newer versions
the adapter (`hca mlx5_3`): the same adapter or node in several jobs is the one to have checked.
Status 5 (flushed) follows from an earlier error.

Harmless: `NET/Plugin: Could not find: libnccl-net.so`, `Failed to open libibverbs.so`: NCCL then
uses what it has built in.

Cure: `ibv_devinfo`, `ibstat` or `fi_info -p efa` on the node that is named. NCCL_IB_HCA chooses
adapters, NCCL_IB_GID_INDEX the address for RoCE: `--set
network.environment.NCCL_IB_HCA==mlx5_0,mlx5_1`. For an adapter that fails again, exclude the node
and tell the site.

Sources:
https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#networking-issues
https://github.com/NVIDIA/nccl/blob/master/src/misc/ibvwrap.cc
https://github.com/NVIDIA/nccl/blob/master/src/transport/net_ib/p2p.cc
https://github.com/aws/aws-ofi-nccl/blob/master/src/nccl_ofi_rdma.cpp
https://github.com/NVIDIA/nccl/issues/925
https://github.com/NVIDIA/nccl/issues/1814
https://github.com/NVIDIA/nccl-tests/issues/227
https://github.com/aws/aws-ofi-nccl/issues/1020
"""

from __future__ import annotations

from jobgen.diagnosis.signs import Role, Sign

_NO_PLUGIN = r"(?:libnccl-net|librccl-net|libnccl-tuner|libnccl-profiler|libnccl-env|libibverbs)"

SIGNS = (
    Sign(
        r"Call to ibv_modify_qp failed with(?: error| \d+)? (?P<reason>[A-Z][A-Za-z ]+)",
        "no connection over the fabric could be set up (ibv_modify_qp: {reason})",
    ),
    Sign(
        r"Call to (?P<call>ibv_reg_mr(?:_iova2)?) failed with error "
        r"(?P<reason>Bad address|Invalid argument|Operation not supported|Input/output error)",
        "the adapter could not reach the GPU's memory ({call}: {reason})",
        certainty="likely",
    ),
    Sign(
        r"Call to ibv_reg_dmabuf_mr failed with error (?P<reason>[A-Z][\w ]+)",
        "the adapter could not reach the GPU's memory (DMA-BUF: {reason})",
        Role.CONFIRMATION,
        needs_failure=True,
        certainty="possible",
    ),
    Sign(
        r"Call to ibv_query_port_speed failed",
        "a question to the adapter that some do not answer, as EFA",
        Role.NOISE,
    ),
    Sign(
        r"Call to (?P<call>ibv_(?!reg_|create_|modify_|open_device|\w+_ece)\w+) failed"
        r"(?: with error (?P<reason>[A-Z][\w ]+))?",
        "the adapter failed ({call}: {reason})",
        certainty="likely",
    ),
    Sign(
        r"Call to (?P<call>ibv_create_\w+) failed with error "
        r"(?!Cannot allocate)(?P<reason>[A-Z][\w ]+)",
        "the adapter failed ({call}: {reason})",
        certainty="likely",
    ),
    Sign(
        r"Got completion from peer (?P<peer>[^\s<]+)<\d+> with "
        r"(?:error 5\b|status=(?:5 |\w+\(5\)))",
        "the connection to {peer} had failed before",
        Role.CONSEQUENCE,
    ),
    Sign(
        r"Got completion from peer (?P<peer>[^\s<]+)<\d+> with (?:error (?P<code>\d+)"
        r"|status=(?P<word>\w+))",
        "a message between it and {peer} was lost on the fabric (error {code}{word})",
        certainty="likely",
        reporter=True,
    ),
    Sign(
        r"NET/IB : (?P<device>\S+?):\d+ async fatal event(?: on \w+)?.*?: (?P<reason>[^:]+)$",
        "its adapter {device} failed: {reason}",
    ),
    Sign(
        r"NET/IB : (?:(?P<device>\w+):\d+ )?Got async (?:error )?event ?: "
        r"(?P<reason>local catastrophic error|[\w ]*work queue error|\w+ fatal)",
        "its adapter {device} failed: {reason}",
        certainty="likely",
    ),
    Sign(
        r"NET/IB : (?:(?P<device>\w+):\d+ )?Got async (?:error )?event ?: port error",
        "the link of its adapter {device} was down",
        Role.CONFIRMATION,
        needs_failure=True,
        certainty="likely",
    ),
    Sign(
        r"NET/IB : (?:Can't merge net devices with different link_layer"
        r"|Attempted to (?:connect|merge) incompatible devices"
        r"|Remote \w+ device is incompatible with the local"
        r"|Local mergedDev.* has a different number of devices)",
        "the adapters of two nodes do not fit",
        reporter=True,
    ),
    Sign(
        r"NCCL WARN (?:Error: )?(?:[Ff]ailed to initialize any NET plugin"
        r"|[Nn]etwork (?P<network>[\w ]+?) not found)",
        "NCCL did not find the network {network} that NCCL_NET names",
    ),
    Sign(
        r"NET/OFI (?:OFI fi_getinfo\(\) call failed: (?P<reason>[A-Z].+)"
        r"|(?:Could not|Couldn't) find any optimal)",
        "libfabric found no device ({reason})",
    ),
    Sign(
        r"NET/OFI Request (?:\S+ )?completed with error\. RC: (?P<code>\S+?)\.? "
        r"Error: (?P<reason>[^:(]+)",
        "a message was lost on the fabric ({reason})",
        certainty="likely",
        reporter=True,
    ),
    Sign(
        r"NET/OFI (?:Couldn't (?:open|enable|get|bind|create)"
        r"|Creating new (?:endpoint|domain)|Unable to (?:create|open|initiali[sz]e|insert)"
        r"|Failed to (?:initiali[sz]e|insert|create|open)|Initializ\w+ plugin failed)",
        "libfabric could not be set up",
        certainty="likely",
    ),
    Sign(
        r"provider efa output empty list|Memory region registration failed.*[Ee]fa",
        "libfabric's efa provider found no device",
        Role.CONFIRMATION,
        needs_failure=True,
        certainty="possible",
    ),
    Sign(
        r"NET/OFI aws-ofi-nccl initialization failed",
        "the plugin of libfabric could not be set up",
        Role.CONFIRMATION,
        needs_failure=True,
        certainty="likely",
    ),
    Sign(
        r"libfabric:\d+:\d+:?:?cxi:\S+<(?:warn|error)>.*(?:fail|error|timed? ?out|exhaust)",
        "Slingshot's provider of libfabric failed",
        needs_failure=True,
        certainty="possible",
    ),
    Sign(
        r"(?:transport retry counter exceeded|Transport retry count exceeded on) ?(?P<device>\w+)?",
        "a message was lost on the fabric",
        certainty="likely",
        reporter=True,
    ),
    Sign(
        r"UCX +ERROR +.*(?:ibv_\w+\(.*failed(?!: Cannot allocate)"
        r"|failed to (?:open|create|modify|connect)|Endpoint timeout)",
        "UCX could not use the fabric",
        certainty="likely",
    ),
    Sign(
        r"(?:NCCL INFO|Plugin ?:|PROFILER|TUNER|NET/Plugin).*" + _NO_PLUGIN,
        "a plugin of NCCL that is not needed",
        Role.NOISE,
    ),
    Sign(
        r"Plugin: Failed to find nccl\w+ symbol",
        "a plugin of NCCL that is not needed",
        Role.NOISE,
    ),
    Sign(
        r"\bFailed to modify QP to RT[RS]: (?P<why>.+)",
        "the connection over InfiniBand was not made: {why}",
        needs_failure=True,
        certainty="likely",
    ),
    Sign(
        r"^MPICH ERROR \[Rank (?P<rank>\d+)\] \[job id [^]]*\] \[[^]]*\] \[(?P<node>[\w.-]+)\]"
        r".*OFI (?P<why>.+? failed)",
        "libfabric failed: OFI {why}",
        certainty="likely",
    ),
    Sign(
        r"\bOFI (?P<why>\w+ failed \(ofi_\w+\.[ch]:.*)",
        "libfabric failed: OFI {why}",
        certainty="likely",
    ),
    Sign(
        r"NCCL WARN NET/IB : (?P<device>\S+) Got async \w+ event: (?P<why>port error.*)",
        "the InfiniBand port {device} reported: {why}",
        needs_failure=True,
        certainty="likely",
    ),
)

CURE = (
    "check the adapters there (ibv_devinfo, ibstat, fi_info); --set "
    "network.environment.NCCL_IB_HCA=… chooses them; in containers, give it /dev/infiniband"
)
MISLEADS = "a libnccl-net.so that is not found (harmless), and lines with status 5 (they follow)"
EXPLAINS = ("peer-lost", "collective-timeout", "silent-hang")
