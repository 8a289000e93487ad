# Lines to paste, host by host, made by jobgen:
#   jobgen byhand --profile mi210 --hosts smc-r07-07 -G 2
# sha256 of the other lines: b053c85c449159bf
# Have the trainer in the folder first: jobgen trainers export elastic_ddp

# ---- on every host ----
[ -z "${ZSH_VERSION-}" ] || setopt interactivecomments
# (At its prompt, zsh would run what is in comments.)
# Slurm may name the GPUs on three layers at once, and each layer filters what the one below left.
if [[ ${ROCR_VISIBLE_DEVICES-} ]]; then
  unset CUDA_VISIBLE_DEVICES HIP_VISIBLE_DEVICES GPU_DEVICE_ORDINAL
fi
environment=(
  # What a rank prints appears at once.
  PYTHONUNBUFFERED=1
  # Cores of one rank; else 1, or all of the node's under PBS.
  OMP_NUM_THREADS=64
  # One node: gloo stays on loopback, whatever the hostname resolves to.
  GLOO_SOCKET_IFNAME=lo
  # RCCL needs it for GPUs that reach each other over PCIe.
  HSA_FORCE_FINE_GRAIN_PCIE=1
)
name=jobgen-elastic_ddp
# ---- container: it sees the job's folder, the mounts, and the variables that are named here ----
container() {
  local verbs=""
  if [[ -e /dev/infiniband ]]; then verbs=--device=/dev/infiniband; fi
  exec podman run --rm --replace --name="$name" \
    --sig-proxy=false --network=host --ipc=host --ulimit=host \
    --device=/dev/kfd \
    --device=/dev/dri \
    --group-add=keep-groups \
    --volume="$HOME":/workdir \
    --volume=/shareddata:/shareddata \
    --volume=/shared:/shared \
    --volume="$PWD:$PWD" --workdir="$PWD" \
    ${JOBGEN_DIR:+"--volume=$JOBGEN_DIR:$JOBGEN_DIR"} \
    --env=SLURM_JOB_ID --env=SLURM_JOB_NAME --env=SLURM_JOB_NODELIST \
    --env=SLURM_NNODES --env=SLURM_NODEID --env=SLURM_PROCID \
    --env=SLURM_LOCALID --env=SLURM_NTASKS --env=SLURM_ARRAY_TASK_ID \
    --env=ROCR_VISIBLE_DEVICES \
    ${verbs:+"$verbs"} docker.io/rocm/pytorch:latest "$@"
}

# ---- on smc-r07-07 ----
(container env "${environment[@]}" torchrun --nnodes=1 --nproc-per-node=2 --standalone --local-addr=127.0.0.1 elastic_ddp.py)
