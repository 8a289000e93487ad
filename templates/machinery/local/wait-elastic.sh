wait "${pids[0]}" || status=$?  # the other nodes may be lost
stop_nodes
((status == 0)) || exit "$status"
