# start_by_mpiexec: starts all nodes, and returns when they have ended.
start_by_mpiexec() { mpiexec -n "$nodes" --ppn 1 --cpu-bind none "${node_command[@]}"; }
