# node_task: the check of a node and, when all nodes are ready, its ranks.
node_task() {
  write_file "answer.$node" "$(check_node)"
  until is_ordered start; do sleep 0.5; done
  run_node
}
