((SLURM_JOB_NUM_NODES == nodes)) || fail "made for 1 node, not $SLURM_JOB_NUM_NODES: say -N to jobgen, not to sbatch"
software
check_torch
trap "" USR1 USR2  # they would end torchrun
ranks
