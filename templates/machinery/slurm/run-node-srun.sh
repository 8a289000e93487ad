# run_node: one rank; srun starts one for each.
run_node() { rank=$SLURM_PROCID; observe; find_address; software; ranks; }
