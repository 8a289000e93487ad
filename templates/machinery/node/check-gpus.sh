check_torch() {  # torch sees the GPUs that the job asked for; a banner may come before its line
  torch=$(container python3 -c "import torch; found = torch.$gpu_api.device_count()
print('torch', torch.__version__, 'sees', found, 'GPUs'); exit(found != $gpus)" 2>&1 | tail -n 1) ||
    fail "$torch; the job asked for $gpus GPUs: see software() in the script, or change -G"
}
