# Lines to paste, host by host, made by jobgen:
#   jobgen byhand --profile mi210 --hosts 'smc-r07-[07-08]'
# sha256 of the other lines: 3de63267f734f7af
# made of jobgen 1.1.0, profile 91a466bb, template ea334207, trainer 96b0538f
# Have the trainer in the folder first: jobgen trainers export elastic_ddp

# ---- on every host ----
[ -z "${ZSH_VERSION-}" ] || setopt interactivecomments
# (At its prompt, zsh would run what is in comments.)
# Slurm may set several variables that select GPUs; together they would hide some.
[[ ! ${ROCR_VISIBLE_DEVICES-} ]] || unset {CUDA,HIP}_VISIBLE_DEVICES GPU_DEVICE_ORDINAL
environment=(
  PYTHONUNBUFFERED=1  # The output of a rank appears at once.
  OMP_NUM_THREADS=16  # Cores of one rank; torchrun's default is 1.
  NCCL_NET=IB  # Fail if InfiniBand cannot be used; NCCL would use slow TCP and not say so.
  HSA_FORCE_FINE_GRAIN_PCIE=1  # RCCL needs it if GPUs are connected by PCIe.
)
container() {  # runs a command in the image, with the job's folder, the mounts and these variables
  local variables=(SLURM_JOB_ID SLURM_JOB_NAME SLURM_JOB_NODELIST SLURM_NNODES SLURM_NODEID
    SLURM_PROCID SLURM_LOCALID SLURM_NTASKS SLURM_ARRAY_TASK_ID ROCR_VISIBLE_DEVICES)
  local devices=(--device=/dev/kfd --device=/dev/dri)
  if [[ -e /dev/infiniband ]]; then devices+=(--device=/dev/infiniband); fi
  exec podman run --rm --network=host --ipc=host --ulimit=host "${devices[@]}" \
    --group-add=keep-groups --volume="$HOME:/workdir" --volume=/shareddata:/shareddata \
    --volume=/shared:/shared --volume="$PWD:$PWD" --workdir="$PWD" "${variables[@]/#/--env=}" \
    docker.io/rocm/pytorch:latest "$@"
}

# ---- on smc-r07-07 ----
(container env "${environment[@]}" torchrun --nnodes=2 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-id="elastic_ddp" --rdzv-endpoint="smc-r07-07:29400" --local-addr="smc-r07-07" --rdzv-conf="is_host=1,join_timeout=1800" elastic_ddp.py)

# ---- on smc-r07-08 ----
(container env "${environment[@]}" torchrun --nnodes=2 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-id="elastic_ddp" --rdzv-endpoint="smc-r07-07:29400" --local-addr="smc-r07-07-10001" --rdzv-conf="is_host=0,join_timeout=1800" elastic_ddp.py)
