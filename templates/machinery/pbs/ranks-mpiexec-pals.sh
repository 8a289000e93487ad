# mpiexec_ranks: starts a process for each rank, and returns when they have ended. $@ stands before mpiexec.
mpiexec_ranks() {
  "$@" mpiexec -n $((nodes * ranks_per_node)) --ppn "$ranks_per_node" "${mpiexec_options[@]}" "${node_command[@]}"
}
