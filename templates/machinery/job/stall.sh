watch_ranks() {  # if no rank writes for `stall` minutes, each writes its stack, and ends
  local last="" newest looks=0 limit
  mkdir -p "$logs/orders"
  while sleep $((stall * 5)); do  # 12 looks are `stall` minutes; none while the job is suspended
    newest=$(find "$logs" -name "std*.log" -printf '%T@ %p\n' | sort -n | tail -n 1) || continue
    if [[ ! $newest || $newest != "$last" ]]; then last=$newest looks=0; continue; fi
    looks=$((looks + 1)) limit=$stall
    grep -qv "^\[W" "/${newest#*/}" || limit=$((stall * 3))  # no line, or a warning of c10d
    ((looks * stall >= limit * 12)) || continue
    ! declare -F ask_nccl > /dev/null || ask_nccl > "$logs/ras" 2> /dev/null || true
    echo "jobgen: no rank has written for $limit minutes: each writes its stack" >&2
    # In a minute, since a node may see this file so late: the first ranks that end end the job.
    : > "$logs/orders/stacks-$(($(date +%s) + 60))"
    looks=0
    sleep 120
  done
}

watch_ranks &
