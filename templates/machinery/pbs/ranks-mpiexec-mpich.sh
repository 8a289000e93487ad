# mpiexec_ranks: starts a process for each rank, and returns when they have ended. $@ stands before mpiexec.
mpiexec_ranks() {
  write_agent
  "$@" mpiexec -n $((nodes * ranks_per_node)) -f "$PBS_NODEFILE" -ppn "$ranks_per_node" "${mpiexec_options[@]}" \
    -launcher rsh -launcher-exec "$folder/agent" "${node_command[@]}"
}
