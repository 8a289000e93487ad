for _ in "${pids[@]}"; do
  wait -n || { status=$?; ((nodes == 1)) || sleep 2; break; }  # others report theirs
done
stop_nodes
((status == 0)) || exit "$status"
