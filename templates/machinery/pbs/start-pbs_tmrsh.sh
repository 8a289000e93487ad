# start_node: starts one node, and returns when it has ended.
start_node() { pbs_tmrsh "${hosts[$1]}" "${node_command[@]}" "$1"; }
