"""The numbers of a rank, from the variables of torchrun or Slurm."""

import os


def rank_from_environment() -> tuple[int, int, int]:
    """The rank of this process, the number of ranks, and its rank on this node."""
    torchrun = ("RANK", "WORLD_SIZE", "LOCAL_RANK")
    slurm = ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID")
    for names in (torchrun, slurm):
        # A batch script has SLURM_PROCID=0, too: only MASTER_ADDR says that there are other ranks.
        if "MASTER_ADDR" in os.environ and names[0] in os.environ:
            rank, world, local_rank = (int(os.environ[name]) for name in names)
            return rank, world, local_rank
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")  # a single rank, on any free port
    return 0, 1, 0
