watch_ranks() {  # if no rank writes for `stall` minutes, each writes its stack, and ends
  local written file limit
  mkdir -p "$logs/orders"
  while sleep $((stall * 5)); do
    read -r written file < <(
      find "$logs" -name "std*.log" -printf '%T@ %p\n' | sort -n | tail -n 1) || continue
    limit=$((stall * 60))
    grep -qv "^\[W" "$file" || limit=$((stall * 180))  # the start: no line, or a warning of c10d
    if (($(date +%s) - ${written%.*} > limit)); then
      echo "jobgen: no rank has written for $((limit / 60)) minutes: each writes its stack" >&2
      : > "$logs/orders/stacks-$(date +%s)"
      sleep 60
    fi
  done
}

watch_ranks &
