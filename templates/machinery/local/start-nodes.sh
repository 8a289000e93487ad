pids=() status=0
trap 'stop_nodes; exit 130' INT
trap 'stop_nodes; exit 143' TERM
set -m  # a process group for each node
for ((node = 0; node < nodes; node++)); do
  host=node$node run_node < /dev/null &
  pids+=("$!")
done
