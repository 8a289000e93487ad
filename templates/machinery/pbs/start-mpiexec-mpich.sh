# start_by_mpiexec: starts all nodes, and returns when they have ended.
start_by_mpiexec() {
  write_agent
  mpiexec -n "$nodes" -f "$PBS_NODEFILE" -ppn 1 -bind-to none -launcher rsh -launcher-exec "$folder/agent" \
    "${node_command[@]}"
}
