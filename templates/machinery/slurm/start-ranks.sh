# start_ranks: the ranks of all nodes, until they end.
start_ranks() {
  run_labelled "${node_step[@]}" ${rank_options+"${rank_options[@]}"} --kill-on-bad-exit=1 "${node_shell[@]}" run_node
}
