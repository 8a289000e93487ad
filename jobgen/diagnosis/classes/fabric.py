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

Cure: check the adapters there (ibv_devinfo, ibstat, fi_info); --set
network.environment.NCCL_IB_HCA=… chooses them; in containers, give it /dev/infiniband

Not this: a libnccl-net.so that is not found (harmless), and lines with status 5 (they follow)

Sources: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#networking-issues
https://github.com/NVIDIA/nccl/blob/master/src/misc/ibvwrap.cc
https://github.com/NVIDIA/nccl/blob/master/src/transport/net_ib/p2p.cc
https://github.com/aws/aws-ofi-nccl/blob/master/src/nccl_ofi_rdma.cpp
https://github.com/NVIDIA/nccl/issues/925
https://github.com/NVIDIA/nccl/issues/1814
https://github.com/NVIDIA/nccl-tests/issues/227
https://github.com/aws/aws-ofi-nccl/issues/1020
"""

SIGNS = r"""
NO_PLUGIN = (?:libnccl-net|librccl-net|libnccl-tuner|libnccl-profiler|libnccl-env|libibverbs)
sure cause: no connection over the fabric could be set up (ibv_modify_qp: {reason})
    Call to ibv_modify_qp failed with(?: error| \d+)? (?P<reason>[A-Z][A-Za-z ]+)
likely cause: the adapter could not reach the GPU's memory ({call}: {reason})
    Call to (?P<call>ibv_reg_mr(?:_iova2)?) failed with error (?P<reason>Bad address
        |Invalid argument|Operation not supported|Input/output error)
possible confirmation if failed: the adapter could not reach the GPU's memory (DMA-BUF: {reason})
    Call to ibv_reg_dmabuf_mr failed with error (?P<reason>[A-Z][\w ]+)
noise:
    # some adapters do not answer it, as EFA
    Call to ibv_query_port_speed failed
likely cause: the adapter failed ({call}: {reason})
    Call to (?P<call>ibv_(?!reg_|create_|modify_|open_device|\w+_ece)\w+) failed
        (?: with error (?P<reason>[A-Z][\w ]+))?
    Call to (?P<call>ibv_create_\w+) failed with error (?!Cannot allocate)(?P<reason>[A-Z][\w ]+)
sure consequence: the connection to {peer} had failed before
    Got completion from peer (?P<peer>[^\s<]+)<\d+> with (?:error 5\b|status=(?:5 |\w+\(5\)))
likely report: a message between it and {peer} was lost on the fabric (error {code}{word})
    Got completion from peer (?P<peer>[^\s<]+)<\d+> with (?:error (?P<code>\d+)
        |status=(?P<word>\w+))
sure cause: its adapter {device} failed: {reason}
    NET/IB : (?P<device>\S+?):\d+ async fatal event(?: on \w+)?.*?: (?P<reason>[^:]+)$
likely cause: its adapter {device} failed: {reason}
    NET/IB : (?:(?P<device>\w+):\d+ )?Got async (?:error )?event ?: (?P<reason>local catastrophic[ ]
        error|[\w ]*work queue error|\w+ fatal)
likely confirmation if failed: the link of its adapter {device} was down
    NET/IB : (?:(?P<device>\w+):\d+ )?Got async (?:error )?event ?: port error
sure report: the adapters of two nodes do not fit
    NET/IB : (?:Can't merge net devices with different link_layer|Attempted to (?:connect|merge)[ ]
        incompatible devices|Remote \w+ device is incompatible with the local
        |Local mergedDev.* has a different number of devices)
sure cause: NCCL did not find the network {network} that NCCL_NET names
    NCCL WARN (?:Error: )?(?:[Ff]ailed to initialize any NET plugin
        |[Nn]etwork (?P<network>[\w ]+?) not found)
sure cause: libfabric found no device ({reason})
    NET/OFI (?:OFI fi_getinfo\(\) call failed: (?P<reason>[A-Z].+)|(?:Could not|Couldn't) find[ ]
        any optimal)
likely report: a message was lost on the fabric ({reason})
    NET/OFI Request (?:\S+ )?completed with error\. RC: (?P<code>\S+?)\.? Error: (?P<reason>[^:(]+)
likely cause: libfabric could not be set up
    NET/OFI (?:Couldn't (?:open|enable|get|bind|create)|Creating new (?:endpoint|domain)
        |Unable to (?:create|open|initiali[sz]e|insert)|Failed to (?:initiali[sz]e|insert|create
        |open)|Initializ\w+ plugin failed)
possible confirmation if failed: libfabric's efa provider found no device
    provider efa output empty list|Memory region registration failed.*[Ee]fa
likely confirmation if failed: the plugin of libfabric could not be set up
    NET/OFI aws-ofi-nccl initialization failed
possible cause if failed: Slingshot's provider of libfabric failed
    libfabric:\d+:\d+:?:?cxi:\S+<(?:warn|error)>.*(?:fail|error|timed? ?out|exhaust)
likely report: a message was lost on the fabric
    (?:transport retry counter exceeded|Transport retry count exceeded on) ?(?P<device>\w+)?
likely cause: UCX could not use the fabric
    UCX +ERROR +.*(?:ibv_\w+\(.*failed(?!: Cannot allocate)|failed to (?:open|create|modify
        |connect)|Endpoint timeout)
# A plugin of NCCL that is not needed.
noise:
    (?:NCCL INFO|Plugin ?:|PROFILER|TUNER|NET/Plugin).*<NO_PLUGIN>
    Plugin: Failed to find nccl\w+ symbol
likely cause if failed: the connection over InfiniBand was not made: {why}
    \bFailed to modify QP to RT[RS]: (?P<why>.+)
likely cause: libfabric failed: OFI {why}
    ^MPICH ERROR \[Rank (?P<rank>\d+)\] \[job id [^]]*\] \[[^]]*\] \[(?P<node>[\w.-]+)\].*OFI[ ]
        (?P<why>.+? failed)
    \bOFI (?P<why>\w+ failed \(ofi_\w+\.[ch]:.*)
likely cause if failed: the InfiniBand port {device} reported: {why}
    NCCL WARN NET/IB : (?P<device>\S+) Got async \w+ event: (?P<why>port error.*)
"""
EXPLAINS = "peer-lost collective-timeout silent-hang"
TRAITS = "gpu"
