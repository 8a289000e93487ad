# If a node is not ready, the containers of the others are removed.
SLURM_KILL_BAD_EXIT=0 roll_call || {
  SLURM_KILL_BAD_EXIT=0 timeout 60 "${on_each_node[@]}" remove_unused > /dev/null 2>&1 || true
  ${exclude_at_most:+exclude_nodes}
  exit 1
}
