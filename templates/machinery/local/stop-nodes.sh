# stop_nodes: ends all nodes. torchrun gives its ranks 30 s.
stop_nodes() {
  local pid limit=$((SECONDS + 35))
  trap "" INT TERM
  for pid in "${pids[@]}"; do kill -- "-$pid" 2> /dev/null || true; done
  for pid in "${pids[@]}"; do
    while kill -0 -- "-$pid" 2> /dev/null; do
      ((SECONDS < limit)) || kill -KILL -- "-$pid" 2> /dev/null || true
      sleep 0.1
    done
  done
}
