{ trap : TERM; run_labelled srun ${step_options+"${step_options[@]}"} ${rank_options+"${rank_options[@]}"} \
  --nodes="$nodes" --ntasks=$((nodes * ranks_per_node)) --ntasks-per-node="$ranks_per_node" \
  --export=ALL --kill-on-bad-exit=1 "${node_shell[@]}" run_node; } &
wait "$!"  # this shell hears a signal meanwhile
