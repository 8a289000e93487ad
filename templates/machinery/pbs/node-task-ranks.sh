# node_task: the check of a node. Its ranks are mpiexec's; they get TERM when the guard ends this.
node_task() {
  write_file "answer.$node" "$(check_node)"
  trap 'end_ranks; exit 143' TERM
  while :; do sleep 0.5; done 2> /dev/null  # else bash reports the signal
}
