{ trap : TERM; run_labelled "${node_step[@]}" ${rank_options+"${rank_options[@]}"} --kill-on-bad-exit=1 \
  "${node_shell[@]}" run_node; } &
wait "$!"  # this shell hears a signal meanwhile
