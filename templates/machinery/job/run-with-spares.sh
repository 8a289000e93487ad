start_on() {  # starts torchrun on these nodes
  local start=$1
  shift
  (
    trap "" TERM
    exec srun --nodes=$# --ntasks=$# --nodelist="$(IFS=,; echo "$*")" "${start_ranks[@]:1}" \
      "$start" "$address"
  ) 2> >(trap "" TERM; tee -a "$logs/stderr" >&2 || cat > /dev/null) < /dev/null &
}

run_ranks() {  # the status of the first node that is ready is the job's; any other may be lost
  local others=""
  if ((${#ready[@]} > 1)); then start_on run_beside "${ready[@]:1}"; others=$!; disown; fi
  start_on run_node "${ready[0]}"
  while kill -0 "$!" 2> /dev/null; do wait "$!" || true; done
  [[ ! $others ]] || kill -KILL "$others" 2> /dev/null || true
  wait "$!"
}

status=0
run_ranks || status=$?
