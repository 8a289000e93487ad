((min_nodes <= SLURM_JOB_NUM_NODES && SLURM_JOB_NUM_NODES <= nodes)) ||
  fail "made for $min_nodes to $nodes nodes, not $SLURM_JOB_NUM_NODES: say -N to jobgen, not to sbatch"
nodes=$SLURM_JOB_NUM_NODES
