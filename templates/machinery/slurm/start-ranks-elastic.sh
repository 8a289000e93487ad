# start_ranks: the ranks of the first node, whose end is the job's, and beside it those of the others, which
# may be lost.
start_ranks() {
  local step=(srun ${step_options+"${step_options[@]}"} ${rank_options+"${rank_options[@]}"}) others="" status=0
  step+=(--ntasks-per-node=1 --export=ALL)
  if ((nodes > 1)); then
    set -m  # a process group for it
    JOBGEN_OTHERS=1 run_labelled "${step[@]}" --relative=1 --nodes=$((nodes - 1)) --no-kill --kill-on-bad-exit=0 \
      "${node_shell[@]}" run_node &
    others=$!; set +m
  fi
  run_labelled "${step[@]}" --relative=0 --nodes=1 "${node_shell[@]}" run_node || status=$?
  if [[ $others ]]; then
    kill -- "-$others" 2> /dev/null || true
    wait "$others" || true
  fi
  return "$status"
}
