run_beside() {  # as run_node, on a node that may be lost; then looks whether the job has a head
  local left
  "$0" keep run_node "$1" 1 || true  # below a keeper of its own; any number but 0
  while sleep $((10 + RANDOM % (2 * nodes))); do  # a TERM ends this, at the end of the job
    left=$(squeue -h -j "$id" -o %N) || continue
    left=$(scontrol show hostnames "$left" | paste -sd " ") || continue
    [[ ! $left || " $left " == *" ${hosts[0]} "* ]] || break  # with the batch script: it is lost,
  done  # and Slurm, told not to kill the job for a lost node, would keep it for ever
  scontrol requeue "$id" || scancel "$id"
}
