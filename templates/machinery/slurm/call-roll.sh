# A node that is not ready does not end the checks of others.
SLURM_KILL_BAD_EXIT=0 roll_call || { ${exclude_at_most:+exclude_nodes}; exit 1; }
