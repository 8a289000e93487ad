# Lines to paste, host by host, made by jobgen:
#   jobgen byhand --profile eap --hosts 'blancapeak[003-004]' -- multinode.py 50 10
# sha256 of the other lines: b06fb7334899863b

# ---- on every host ----
[ -z "${ZSH_VERSION-}" ] || setopt interactivecomments
# (At its prompt, zsh would run what is in comments.)
module load cray-python/3.11.7 cuda/12.6
export VIRTUAL_ENV="$HOME"/ddpTest/myenv
export PATH=$VIRTUAL_ENV/bin:$PATH
environment=(
  # What a rank prints appears at once.
  PYTHONUNBUFFERED=1
  # Cores of one rank; else 1, or all of the node's under PBS.
  OMP_NUM_THREADS=72
  # gloo would else use the interface that the hostname resolves to.
  GLOO_SOCKET_IFNAME=hsn0
  # NCCL's first contact; the = means exactly this name, not all that begin with it.
  NCCL_SOCKET_IFNAME='=hsn0'
  # Fail without the plugin aws-ofi-nccl, where NCCL would fall back to slow TCP without a word (5
  # instead of 123 GB/s, as CSCS measured).
  NCCL_NET='AWS Libfabric'
  # Slingshot's provider in libfabric; efa, which old scripts have, is AWS's.
  FI_PROVIDER=cxi
  # The protocol LL128 can corrupt data silently between GH200 nodes (NVIDIA/nccl#2001, NCCL 2.27
  # and newer). HPE, Olivia and CSCS turn it off.
  NCCL_PROTO='^LL128'
  # No small (eager) messages, the other suspect of that corruption (HPE's shs-ccl-docs#21).
  FI_CXI_RDZV_THRESHOLD=0
  # Nor a lower limit for what the receiver fetches (fi_cxi(7)).
  FI_CXI_RDZV_GET_MIN=0
  # Nor an eager part in front of a long message (fi_cxi(7)).
  FI_CXI_RDZV_EAGER_SIZE=0
  # No GDRCopy, as HPE advises for the same reason.
  FI_HMEM_CUDA_USE_GDRCOPY=0
  # Rings may use all adapters of a node. CSCS's newest container hook says 0.
  NCCL_CROSS_NIC=1
  # The adapter reads and writes GPU memory itself, up to the same host bridge.
  NCCL_NET_GDR_LEVEL=PHB
  # Notices memory that is given back, where the default can deadlock or miss it with CUDA.
  FI_MR_CACHE_MONITOR=userfaultfd
  # The provider registering host memory with CUDA can deadlock with NCCL.
  FI_CXI_DISABLE_HOST_REGISTER=1
  # Entries of the completion queue; a busy job can overrun the default.
  FI_CXI_DEFAULT_CQ_SIZE=131072
  # Sends at once, twice the default. CSCS takes 16384.
  FI_CXI_DEFAULT_TX_SIZE=2048
  # Match in software when the adapter's table is full, which would end the job. CSCS has software.
  FI_CXI_RX_MATCH_MODE=hybrid
)
# This host's own address on the fabric: the ranks are to meet there.
own=$(ip -4 -o addr show up dev hsn0 | awk '!n++ { sub("/.*", "", $4); print $4 }')

# ---- on blancapeak003 ----
env "${environment[@]}" torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-id=multinode --rdzv-endpoint=blancapeak003:29500 --rdzv-conf=is_host=1,join_timeout=600 --local-addr="$own" multinode.py 50 10

# ---- on blancapeak004 ----
env "${environment[@]}" torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-id=multinode --rdzv-endpoint=blancapeak003:29500 --rdzv-conf=is_host=0,join_timeout=600 --local-addr="$own" multinode.py 50 10
