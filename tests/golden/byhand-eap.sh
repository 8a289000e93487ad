# Lines to paste, host by host, made by jobgen:
#   jobgen byhand --profile eap --hosts 'blancapeak[003-004]' -- multinode.py 50 10
# sha256 of the other lines: 0a752be85d0a7902
# made of jobgen 1.0.0, profile 9d2d3ad3, template 14472b44

# ---- on every host ----
[ -z "${ZSH_VERSION-}" ] || setopt interactivecomments
# (At its prompt, zsh would run what is in comments.)
module load cray-python/3.11.7 cuda/12.6
export VIRTUAL_ENV="$HOME/ddpTest/myenv"
export PATH=$VIRTUAL_ENV/bin:$PATH
environment=(
  PYTHONUNBUFFERED=1  # The output of a rank appears at once.
  OMP_NUM_THREADS=72  # Cores of one rank; PBS sets it to the node's ncpus.
  GLOO_SOCKET_IFNAME=hsn0  # gloo's default is the interface of the host name.
  NCCL_SOCKET_IFNAME='=hsn0'  # For NCCL's first contact; = means exactly this name.
  # Fail if the plugin aws-ofi-nccl is missing; NCCL would use slow TCP and not say so.
  NCCL_NET='AWS Libfabric'
  FI_PROVIDER=cxi  # Libfabric's provider for Slingshot (efa, in old scripts, is AWS's).
  # LL128 can corrupt data silently over Slingshot (between GH200 nodes, NVIDIA/nccl#2001).
  NCCL_PROTO='^LL128'
  # No small (eager) messages, which may corrupt data (HPE's shs-ccl-docs#21).
  FI_CXI_RDZV_THRESHOLD=0
  FI_CXI_RDZV_GET_MIN=0  # The receiver may fetch messages of any size (fi_cxi(7)).
  FI_CXI_RDZV_EAGER_SIZE=0  # No eager part in front of a long message (fi_cxi(7)).
  FI_HMEM_CUDA_USE_GDRCOPY=0  # No GDRCopy, as HPE advises for the same reason.
  NCCL_CROSS_NIC=1  # Rings may use all adapters of a node.
  # The adapter reads and writes GPU memory itself, up to the same host bridge.
  NCCL_NET_GDR_LEVEL=PHB
  # Notices freed memory; with CUDA, the default can miss it or deadlock.
  FI_MR_CACHE_MONITOR=userfaultfd
  # If the provider registers host memory with CUDA, NCCL can deadlock.
  FI_CXI_DISABLE_HOST_REGISTER=1
  FI_CXI_DEFAULT_CQ_SIZE=131072  # Entries of the completion queue; a busy job can fill the default.
  FI_CXI_DEFAULT_TX_SIZE=2048  # Sends at the same time, twice the default.
  # Match in software if the adapter's table is full, which would end the job.
  FI_CXI_RX_MATCH_MODE=hybrid
)
address=$(ip -4 -o addr show up dev hsn0 | awk '!n++ { sub("/.*", "", $4); print $4 }')

# ---- on blancapeak003 ----
env "${environment[@]}" torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-id="multinode" --rdzv-endpoint="blancapeak003:29500" --local-addr="$address" --rdzv-conf="is_host=1,join_timeout=600,read_timeout=200" multinode.py 50 10

# ---- on blancapeak004 ----
env "${environment[@]}" torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-id="multinode" --rdzv-endpoint="blancapeak003:29500" --local-addr="$address" --rdzv-conf="is_host=0,join_timeout=600,read_timeout=200" multinode.py 50 10
