# Lines to paste, host by host, made by jobgen:
#   jobgen byhand --profile eap --hosts 'blancapeak[003-004]' -- multinode.py 50 10
# sha256 of the other lines: 8cd3f7b58fe59a87
# made of jobgen 1.1.0, profile 2c96767d, template 9c6139dd

# ---- on every host ----
[ -z "${ZSH_VERSION-}" ] || setopt interactivecomments
# (At its prompt, zsh would run what is in comments.)
module load cray-python/3.11.7 cuda/12.6
export VIRTUAL_ENV="$HOME/ddpTest/myenv"
export PATH=$VIRTUAL_ENV/bin:$PATH
ls -L "$VIRTUAL_ENV/bin/python3" > /dev/null  # fails if it is not there
environment=(
  PYTHONUNBUFFERED=1  # The output of a rank appears at once.
  OMP_NUM_THREADS=72  # Cores of one rank; PBS sets it to the node's ncpus.
  GLOO_SOCKET_IFNAME=hsn0  # gloo's default is the interface of the host name.
  NCCL_SOCKET_IFNAME='=hsn0'  # For NCCL's first contact; = means exactly this name.
  NCCL_NET='AWS Libfabric'  # Fails without aws-ofi-nccl, instead of using slow TCP.
  FI_PROVIDER=cxi  # Libfabric's provider for Slingshot (efa, in old scripts, is AWS's).
  NCCL_PROTO='^LL128'  # LL128 can corrupt data silently over Slingshot (NVIDIA/nccl#2001).
  FI_CXI_RDZV_THRESHOLD=0  # No eager messages, which may corrupt data (shs-ccl-docs#21).
  FI_CXI_RDZV_GET_MIN=0  # The receiver may fetch messages of any size (fi_cxi(7)).
  FI_CXI_RDZV_EAGER_SIZE=0  # No eager part in front of a long message (fi_cxi(7)).
  FI_HMEM_CUDA_USE_GDRCOPY=0  # No GDRCopy, as HPE advises for the same reason.
  NCCL_CROSS_NIC=1  # Rings may use all adapters of a node.
  NCCL_NET_GDR_LEVEL=PHB  # The adapter reaches GPU memory up to the same host bridge.
  FI_MR_CACHE_MONITOR=userfaultfd  # Notices freed memory; the default can deadlock.
  FI_CXI_DISABLE_HOST_REGISTER=1  # Host memory registered with CUDA can deadlock NCCL.
  FI_CXI_DEFAULT_CQ_SIZE=131072  # Completion queue; a busy job can fill the default.
  FI_CXI_DEFAULT_TX_SIZE=2048  # Sends at the same time, twice the default.
  FI_CXI_RX_MATCH_MODE=hybrid  # Matches in software if the adapter's table is full.
)

# ---- on blancapeak003 ----
env "${environment[@]}" torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-id="multinode" --rdzv-endpoint="blancapeak003:29500" --local-addr="blancapeak003" --rdzv-conf="is_host=1,join_timeout=600" multinode.py 50 10

# ---- on blancapeak004 ----
env "${environment[@]}" torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-id="multinode" --rdzv-endpoint="blancapeak003:29500" --local-addr="blancapeak003-10001" --rdzv-conf="is_host=0,join_timeout=600" multinode.py 50 10
