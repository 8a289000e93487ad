# run_node: the ranks of this node. Its torchrun waits for node 0's, for read_timeout seconds.
run_node() {
  observe
  trap "" USR1 USR2  # they would end torchrun
  find_address; software
  ranks
}
