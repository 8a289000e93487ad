printf '%s\n' "$keeper" > "$logs/keeper.py"
lead=(env -u LD_LIBRARY_PATH -u LD_PRELOAD "$python" -I -S "$logs/keeper.py" lead
  "$logs" "$address" "$((join_timeout - 3))" "$stop_grace")  # so it names who is late
each_node=("${lead[@]}" 1 "${#hosts[@]}" "${hosts[*]}" "$starter" "$logs/job.sh")
start_ranks=("${lead[@]}" 2 0 "${hosts[*]}" "$starter" "$logs/job.sh")
