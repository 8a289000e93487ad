# run_node: the ranks of the node.
run_node() {
  observe
  trap "" USR1 USR2  # they would end torchrun
  software
  ranks
}
