for _ in "${pids[@]}"; do
  wait -n || { status=$?; ((nodes == 1)) || sleep 2; break; }  # the first node that fails ends the job; others report theirs
done
stop_nodes
((status == 0)) || exit "$status"
