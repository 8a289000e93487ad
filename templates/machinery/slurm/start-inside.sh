container "${node_shell[@]}" ranks
