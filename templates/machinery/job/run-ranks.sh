run_ranks() {  # starts the ranks, and returns their status; this shell hears signals meanwhile
  rm -f "$logs/orders/end"  # of the time before
  [[ ! -e $logs/stderr ]] || mv "$logs/stderr" "$logs/stderr.before"
  (trap "" TERM; exec "${start_ranks[@]}" run_node "$address") \
    2> >(trap "" TERM; tee -a "$logs/stderr" >&2 || cat > /dev/null) < /dev/null &
  while kill -0 "$!" 2> /dev/null; do wait "$!" || true; done
  wait "$!"
}

status=0
run_ranks || status=$?
