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

Harmless: `NET/Plugin: Could not find: libnccl-net.so`, `Failed to open libibverbs.so`: NCCL then
uses what it has built in.

`fi_info -p efa` asks for EFA. NCCL_IB_GID_INDEX chooses the address for RoCE, and `--set
network.environment.NCCL_IB_HCA==mlx5_0,mlx5_1` these two adapters alone. For an adapter that fails
again, exclude the node and tell the site.

Sources: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#networking-issues
https://github.com/NVIDIA/nccl/blob/master/src/misc/ibvwrap.cc
https://github.com/NVIDIA/nccl/blob/master/src/transport/net_ib/p2p.cc
https://github.com/aws/aws-ofi-nccl/blob/master/src/nccl_ofi_rdma.cpp
https://github.com/NVIDIA/nccl/issues/925
https://github.com/NVIDIA/nccl/issues/1814
https://github.com/NVIDIA/nccl-tests/issues/227
https://github.com/aws/aws-ofi-nccl/issues/1020
"""

from jobgen.diagnosis.signs import likely, noise, possible, sure

_NO_PLUGIN = r"(?:libnccl-net|librccl-net|libnccl-tuner|libnccl-profiler|libnccl-env|libibverbs)"

SIGNS = (
    *sure.cause(
        "no connection over the fabric could be set up (ibv_modify_qp: {reason})",
        r"Call to ibv_modify_qp failed with(?: error| \d+)? (?P<reason>[A-Z][A-Za-z ]+)",
    ),
    *likely.cause(
        "the adapter could not reach the GPU's memory ({call}: {reason})",
        r"Call to (?P<call>ibv_reg_mr(?:_iova2)?) failed with error "
        r"(?P<reason>Bad address|Invalid argument|Operation not supported|Input/output error)",
    ),
    *possible.if_failed.confirmation(
        "the adapter could not reach the GPU's memory (DMA-BUF: {reason})",
        r"Call to ibv_reg_dmabuf_mr failed with error (?P<reason>[A-Z][\w ]+)",
    ),
    *noise(r"Call to ibv_query_port_speed failed"),  # some adapters do not answer it, as EFA
    *likely.cause(
        "the adapter failed ({call}: {reason})",
        r"Call to (?P<call>ibv_(?!reg_|create_|modify_|open_device|\w+_ece)\w+) "
        r"failed(?: with error (?P<reason>[A-Z][\w ]+))?",
        r"Call to (?P<call>ibv_create_\w+) failed with error "
        r"(?!Cannot allocate)(?P<reason>[A-Z][\w ]+)",
    ),
    *sure.consequence(
        "the connection to {peer} had failed before",
        r"Got completion from peer (?P<peer>[^\s<]+)<\d+> with "
        r"(?:error 5\b|status=(?:5 |\w+\(5\)))",
    ),
    *likely.report(
        "a message between it and {peer} was lost on the fabric (error {code}{word})",
        r"Got completion from peer (?P<peer>[^\s<]+)<\d+> with "
        r"(?:error (?P<code>\d+)|status=(?P<word>\w+))",
    ),
    *sure.cause(
        "its adapter {device} failed: {reason}",
        r"NET/IB : (?P<device>\S+?):\d+ async fatal event(?: on \w+)?.*?: (?P<reason>[^:]+)$",
    ),
    *likely.cause(
        "its adapter {device} failed: {reason}",
        r"NET/IB : (?:(?P<device>\w+):\d+ )?Got async (?:error )?event ?: "
        r"(?P<reason>local catastrophic error|[\w ]*work queue error|\w+ fatal)",
    ),
    *likely.if_failed.confirmation(
        "the link of its adapter {device} was down",
        r"NET/IB : (?:(?P<device>\w+):\d+ )?Got async (?:error )?event ?: port error",
    ),
    *sure.report(
        "the adapters of two nodes do not fit",
        r"NET/IB : (?:Can't merge net devices with different link_layer"
        r"|Attempted to (?:connect|merge) incompatible devices"
        r"|Remote \w+ device is incompatible with the local"
        r"|Local mergedDev.* has a different number of devices)",
    ),
    *sure.cause(
        "NCCL did not find the network {network} that NCCL_NET names",
        r"NCCL WARN (?:Error: )?(?:[Ff]ailed to initialize any NET plugin"
        r"|[Nn]etwork (?P<network>[\w ]+?) not found)",
    ),
    *sure.cause(
        "libfabric found no device ({reason})",
        r"NET/OFI (?:OFI fi_getinfo\(\) call failed: (?P<reason>[A-Z].+)"
        r"|(?:Could not|Couldn't) find any optimal)",
    ),
    *likely.report(
        "a message was lost on the fabric ({reason})",
        r"NET/OFI Request (?:\S+ )?completed with error\. RC: "
        r"(?P<code>\S+?)\.? Error: (?P<reason>[^:(]+)",
    ),
    *likely.cause(
        "libfabric could not be set up",
        r"NET/OFI (?:Couldn't (?:open|enable|get|bind|create)|Creating new (?:endpoint|domain)"
        r"|Unable to (?:create|open|initiali[sz]e|insert)"
        r"|Failed to (?:initiali[sz]e|insert|create|open)|Initializ\w+ plugin failed)",
    ),
    *possible.if_failed.confirmation(
        "libfabric's efa provider found no device",
        r"provider efa output empty list|Memory region registration failed.*[Ee]fa",
    ),
    *likely.if_failed.confirmation(
        "the plugin of libfabric could not be set up",
        r"NET/OFI aws-ofi-nccl initialization failed",
    ),
    *possible.if_failed.cause(
        "Slingshot's provider of libfabric failed",
        r"libfabric:\d+:\d+:?:?cxi:\S+<(?:warn|error)>.*(?:fail|error|timed? ?out|exhaust)",
    ),
    *likely.report(
        "a message was lost on the fabric",
        r"(?:transport retry counter exceeded|Transport retry count exceeded on) ?(?P<device>\w+)?",
    ),
    *likely.cause(
        "UCX could not use the fabric",
        r"UCX +ERROR +.*(?:ibv_\w+\(.*failed(?!: Cannot allocate)"
        r"|failed to (?:open|create|modify|connect)|Endpoint timeout)",
    ),
    # A plugin of NCCL that is not needed.
    *noise(
        rf"(?:NCCL INFO|Plugin ?:|PROFILER|TUNER|NET/Plugin).*{_NO_PLUGIN}",
        r"Plugin: Failed to find nccl\w+ symbol",
    ),
    *likely.if_failed.cause(
        "the connection over InfiniBand was not made: {why}",
        r"\bFailed to modify QP to RT[RS]: (?P<why>.+)",
    ),
    *likely.cause(
        "libfabric failed: OFI {why}",
        r"^MPICH ERROR \[Rank (?P<rank>\d+)\] \[job id [^]]*\] \[[^]]*\] "
        r"\[(?P<node>[\w.-]+)\].*OFI (?P<why>.+? failed)",
        r"\bOFI (?P<why>\w+ failed \(ofi_\w+\.[ch]:.*)",
    ),
    *likely.if_failed.cause(
        "the InfiniBand port {device} reported: {why}",
        r"NCCL WARN NET/IB : (?P<device>\S+) Got async \w+ event: (?P<why>port error.*)",
    ),
)
CURE = (
    "check the adapters there (ibv_devinfo, ibstat, fi_info); --set"
    " network.environment.NCCL_IB_HCA=… chooses them; in containers, give it /dev/infiniband"
)
MISLEADS = "a libnccl-net.so that is not found (harmless), and lines with status 5 (they follow)"
EXPLAINS = "peer-lost collective-timeout silent-hang"
TRAITS = "gpu"
