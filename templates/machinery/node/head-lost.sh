run_beside() {  # as run_node, on a node that may be lost; then looks whether the job has a head
  local remaining number
  number=$(awk -v host="$host" '$2 == host { print $1 }' "$logs/nodes")
  # Below a keeper of its own, by Slurm's number of the node; 0 is the head's alone. A torchrun
  # that a signal killed may be replaced.
  "$0" keep run_node "$1" $((number + 1)) ||
    (($? < 128)) || echo "jobgen: $host: its place is free" >&2
  while true; do
    sleep $((10 + RANDOM % (2 * nodes))) || exit 0  # a TERM, at the end of the job
    remaining=$(squeue -h -t RUNNING -j "$id" -o %N) || continue  # not of a job that ends
    remaining=$(scontrol show hostnames "$remaining" | paste -sd " ") || continue
    [[ ! $remaining || " $remaining " == *" ${hosts[0]} "* ]] || break
  done  # the batch script is lost: Slurm, told not to kill the job for that, keeps it for ever
  scontrol requeue "$id" || scancel "$id"
}
