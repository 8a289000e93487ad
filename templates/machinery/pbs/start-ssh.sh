# start_node: starts one node, and returns when it has ended.
start_node() { ssh -o BatchMode=yes "${hosts[$1]}" "$(printf '%q ' "${node_command[@]}" "$1")"; }
