# ranks_with_handler: the ranks of this node that handle SIGUSR1, but not the processes that they started.
ranks_with_handler() {
  local file pid
  # SigCgt is a mask in hex: SIGUSR1 is bit 2 of its third digit from the right.
  grep -ls '^SigCgt:.*[2367abef]..$' /proc/[0-9]*/status | while read -r file; do
    pid=${file//[!0-9]/}
    if is_rank "$pid" && ! is_rank "$(awk '/^PPid:/ { print $2 }' "$file")"; then echo "$pid"; fi
  done
}

# warn_ranks: SIGUSR1 once for each rank of this node; for one that still imports torch, when it is ready.
warn_ranks() {
  local pid warned=" "
  while sleep 1; do
    for pid in $(ranks_with_handler); do
      if [[ $warned != *" $pid "* ]]; then kill -USR1 "$pid" 2> /dev/null || true; fi
      warned+="$pid "
    done
  done
}
