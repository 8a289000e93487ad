software  # here, not in the container, which has no modules; the variables go along with the step
rank_step=(${rank_options+"${rank_options[@]}"} --nodes="$nodes" --ntasks=$((nodes * ranks_per_node))
  --ntasks-per-node="$ranks_per_node" --kill-on-bad-exit=1)
