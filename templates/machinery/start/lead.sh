printf '%s\n' "$keeper" > "$logs/keeper.py"
lead=(env -u LD_LIBRARY_PATH -u LD_PRELOAD "$python" -I -S "$logs/keeper.py" lead
  "$logs" "$address" "$((join_timeout - 3))" "$stop_grace")  # 3 s less: to name who is late
each_node=("${lead[@]}" 1 "${#hosts[@]}" "${hosts[*]}" "$starter" "$logs/job.sh")  # to stdout
start_ranks=("${lead[@]}" 2 0 "${hosts[*]}" "$starter" "$logs/job.sh")  # to stderr; 0 may fail
