run_beside() {  # as run_node, on a node that may be lost; then looks whether the job has a head
  local remaining
  # Below a keeper of its own; any number but 0. A torchrun that a signal killed may be replaced.
  "$0" keep run_node "$1" 1 || (($? < 128)) || echo "jobgen: $host: its place is free" >&2
  while sleep $((10 + RANDOM % (2 * nodes))); do  # a TERM ends this, at the end of the job
    remaining=$(squeue -h -j "$id" -o %N) || continue
    remaining=$(scontrol show hostnames "$remaining" | paste -sd " ") || continue
    [[ ! $remaining || " $remaining " == *" ${hosts[0]} "* ]] || break
  done  # the batch script is lost: Slurm, told not to kill the job for that, keeps it for ever
  scontrol requeue "$id" || scancel "$id"
}
