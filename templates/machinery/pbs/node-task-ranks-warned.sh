# node_task: the check of a node, and the warning of its ranks. They are mpiexec's, and get TERM when the guard ends this.
node_task() {
  write_file "answer.$node" "$(check_node)"
  { until is_ordered warn; do sleep 2; done; warn_ranks; } &
  trap 'end_ranks; exit 143' TERM
  while :; do sleep 0.5; done 2> /dev/null  # else bash reports the signal
}
