run_beside() {  # as run_node, on a node that may be lost; then looks whether the job has a head
  local remaining
  # below a keeper of its own; any number but 0. -c: the job may be removing its folder
  if "$0" keep run_node "$1" 1; then truncate -cs 1 "$logs/done.$host" || true; fi
  while sleep $((10 + RANDOM % (2 * nodes))); do  # a TERM ends this, at the end of the job
    remaining=$(squeue -h -j "$id" -o %N) || continue
    remaining=$(scontrol show hostnames "$remaining" | paste -sd " ") || continue
    [[ ! $remaining || " $remaining " == *" ${hosts[0]} "* ]] || break
  done  # the batch script is lost: Slurm, told not to kill the job for that, keeps it for ever
  scontrol requeue "$id" || scancel "$id"
}
