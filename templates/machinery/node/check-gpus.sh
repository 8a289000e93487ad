check_torch() {  # torch sees the GPUs that the job asked for; a banner may come before its line
  torch=$(container python3 -c "import torch as t; found, of = t.$gpu_api.device_count(), 'GPUs'
if hasattr(t._C, '_nccl_version'):
    of += f', CUDA {t.version.cuda}, NCCL ' + '.'.join(map(str, t.cuda.nccl.version()))
print('torch', t.__version__, 'sees', found, of); exit(found != $gpus)" 2>&1 | tail -n 1) ||
    fail "$torch; the job asked for $gpus GPUs: see software() in the script, or change -G"
  torch+=$(grep -so " [0-9]*\.[0-9.]*" /proc/driver/nvidia/version | sed 's/^/, driver/;q') || true
}
