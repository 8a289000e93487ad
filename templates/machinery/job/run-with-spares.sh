start_on() {  # starts torchrun on these nodes
  local start=$1
  shift
  (
    trap "" TERM
    exec srun --nodes=$# --ntasks=$# --nodelist="$(IFS=,; echo "$*")" "${start_ranks[@]:1}" \
      "$start" "$address"
  ) 2> >(trap "" TERM; tee -a "$logs/stderr" >&2 || cat > /dev/null) < /dev/null &
}

others_are_done() {  # the first node may have stood by: whether the ranks have ended with 0
  ((${#ready[@]} > nodes)) || return 1
  for _ in {1..10}; do  # seconds; a byte is for a node, and NFS looks anew when a file is opened
    (($(cat "$logs"/done.* | wc -c) < nodes)) || return 0
    sleep 1
  done
  return 1
}

run_ranks() {  # the status of the first ready node is the job's, or 0 if the others are done
  local others="" end=0
  for each in "${ready[@]:1}"; do : > "$logs/done.$each"; done  # a byte when it has ended with 0
  if ((${#ready[@]} > 1)); then start_on run_beside "${ready[@]:1}"; others=$!; disown; fi
  start_on run_node "${ready[0]}"
  while kill -0 "$!" 2> /dev/null; do wait "$!" || true; done
  wait "$!" || end=$?
  ((end == 0)) || ! others_are_done || end=0
  [[ ! $others ]] || kill -KILL "$others" 2> /dev/null || true
  return "$end"
}

status=0
run_ranks || status=$?
