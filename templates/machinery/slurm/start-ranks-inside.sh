# start_ranks: all ranks, in the containers of their nodes, until they end.
start_ranks() { container "${node_shell[@]}" ranks; }
