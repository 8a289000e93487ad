# node_task: the check of a node and, when all nodes are ready, its ranks, which may be warned.
node_task() {
  write_file "answer.$node" "$(check_node)"
  until is_ordered start; do sleep 0.5; done
  { until is_ordered warn; do sleep 2; done; warn_ranks; } &
  run_node
}
