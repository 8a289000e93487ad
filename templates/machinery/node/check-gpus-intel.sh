# check_torch: torch sees as many GPUs as the job asked for. A banner may come before the last line.
check_torch() {
  torch=$(container python3 -c 'import torch; print(f"torch {torch.__version__} sees {torch.xpu.device_count()} GPUs")' 2>&1 |
    tail -n 1) ||
    fail "python3 cannot import torch: $torch: see software() in the script"
  [[ $torch == *" sees $gpus GPUs"* ]] ||
    fail "$torch, the job asked for $gpus: is this torch built for these GPUs? Otherwise change -G of jobgen"
}
