# start_by_mpiexec: starts all nodes, and returns when they have ended.
start_by_mpiexec() {
  [[ $folder != *[[:space:]]* ]] || fail "OpenMPI's mpiexec takes no folder with a blank in its name: submit from another"
  write_agent
  mpiexec -n "$nodes" --hostfile "$PBS_NODEFILE" --map-by ppr:1:node --bind-to none --leave-session-attached \
    --mca plm_rsh_agent "$folder/agent" --mca plm_rsh_no_tree_spawn 1 --mca orte_keep_fqdn_hostnames 1 \
    "${node_command[@]}"
}
