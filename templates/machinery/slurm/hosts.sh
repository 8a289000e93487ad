mapfile -t hosts < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
export -n SLURM_NODEID SLURM_PROCID SLURM_LOCALID SLURM_TASK_PID SLURM_GTIDS SLURMD_NODENAME  # they are of this node alone
