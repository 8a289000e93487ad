(trap "" TERM; exec "${start_ranks[@]}" run_node "$address") \
  2> >(trap "" TERM; tee "$logs/stderr" >&2 || cat > /dev/null) < /dev/null &  # cat: a full disk
wait "$!"
