# start_node: starts the one node, this one.
start_node() { "${node_command[@]}" "$1"; }
