# Lines to paste, host by host, made by jobgen:
#   jobgen byhand --profile dgx-a100 --hosts dgx01,dgx02 --rendezvous static -- cifar10-vgg.py
# sha256 of the other lines: 60aa8925e05d9738

# ---- on every host ----
[ -z "${ZSH_VERSION-}" ] || setopt interactivecomments
# (At its prompt, zsh would run what is in comments.)
environment=(
  # What a rank prints appears at once.
  PYTHONUNBUFFERED=1
  # Cores of one rank; else 1, or all of the node's under PBS.
  OMP_NUM_THREADS=16
)

# ---- on dgx01 ----
env "${environment[@]}" torchrun --nnodes=2 --nproc-per-node=2 --rdzv-backend=static --rdzv-conf=timeout=600 --master-addr=dgx01 --master-port=29400 --node-rank=0 cifar10-vgg.py

# ---- on dgx02 ----
env "${environment[@]}" torchrun --nnodes=2 --nproc-per-node=2 --rdzv-backend=static --rdzv-conf=timeout=600 --master-addr=dgx01 --master-port=29400 --node-rank=1 cifar10-vgg.py
