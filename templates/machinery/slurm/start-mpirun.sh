# start_by_mpiexec: starts all nodes, and returns when they have ended.
start_by_mpiexec() { mpirun -n "$nodes" --map-by ppr:1:node --bind-to none "${node_command[@]}"; }
