# mpiexec_ranks: starts a process for each rank, and returns when they have ended. $@ stands before mpiexec.
mpiexec_ranks() {
  write_agent
  "$@" mpiexec -n $((nodes * ranks_per_node)) --hostfile "$PBS_NODEFILE" "${mpiexec_options[@]}" --leave-session-attached \
    --mca plm_rsh_agent "$folder/agent" --mca plm_rsh_no_tree_spawn 1 --mca orte_keep_fqdn_hostnames 1 \
    "${node_command[@]}"
}
