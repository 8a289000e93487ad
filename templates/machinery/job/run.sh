(trap "" TERM; exec "${start_ranks[@]}" run_node "$address") \
  2> >(trap "" TERM; exec tee "$logs/stderr" >&2) < /dev/null &
wait "$!"
