"""Two ranks use the same GPU.

NCCL allows one rank per GPU, and names the two ranks and the GPU's address on the PCI bus. The
program did not choose its GPU by LOCAL_RANK (`torch.cuda.set_device`), or chose `cuda:0` in every
rank; more ranks were started than there are GPUs (`--nproc-per-node`, `--ntasks-per-node`); each
task sees one GPU and takes it by the number of its global rank; or two nodes of the job are one
machine (the same host twice in a list, containers with the same machine-id).

Choose the GPU before init_process_group. `jobgen … -G N` starts one rank for each GPU, `--set
launch.processes_per_node=N` changes it.

Cure: call torch.cuda.set_device(int(os.environ["LOCAL_RANK"])) first, and start one rank per GPU:
-G N, or --set launch.processes_per_node=N

Not this: the barrier or broadcast in the traceback: it is only the first collective

Sources: https://github.com/NVIDIA/nccl/blob/master/src/init.cc
https://docs.pytorch.org/docs/stable/elastic/run.html
https://github.com/Peterande/D-FINE/issues/289
https://github.com/NVIDIA/Megatron-LM/issues/661
https://github.com/csguoh/MambaIR/issues/39
"""

SIGNS = r"""
sure report: ranks {first} and {second} both use the GPU {device}
    Duplicate GPU detected : rank (?P<first>\d+) and rank (?P<second>\d+) both on (?:CUDA|HIP
        |ROCm)? ?device (?P<device>\w+)
sure report: two ranks use the same GPU
    Multiple [Rr]anks are using the same GPU
"""
EXPLAINS = "peer-lost collective-timeout silent-hang desync"
TRAITS = "setup"
