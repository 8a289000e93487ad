# Lines to paste, host by host, made by jobgen:
#   jobgen byhand --profile dgx-a100 --hosts dgx01,dgx02 --rendezvous static -- cifar10-vgg.py
# sha256 of the other lines: 14133c9e36291f32
# made of jobgen 1.1.0, profile 127a8a40, template 9c6139dd

# ---- on every host ----
[ -z "${ZSH_VERSION-}" ] || setopt interactivecomments
# (At its prompt, zsh would run what is in comments.)
environment=(
  PYTHONUNBUFFERED=1  # The output of a rank appears at once.
  OMP_NUM_THREADS=16  # Cores of one rank; torchrun's default is 1.
)

# ---- on dgx01 ----
env "${environment[@]}" torchrun --nnodes=2 --nproc-per-node=2 --rdzv-backend=static --rdzv-id="cifar10-vgg" --rdzv-conf=timeout="600" --master-addr="dgx01" --master-port="29400" --node-rank="0" cifar10-vgg.py

# ---- on dgx02 ----
env "${environment[@]}" torchrun --nnodes=2 --nproc-per-node=2 --rdzv-backend=static --rdzv-id="cifar10-vgg" --rdzv-conf=timeout="600" --master-addr="dgx01" --master-port="29400" --node-rank="1" cifar10-vgg.py
