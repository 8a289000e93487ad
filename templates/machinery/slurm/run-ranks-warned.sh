# start_warning: starts a step that warns the ranks of all nodes, until stop_warning. Its standard input is a pipe,
# and `warning` is the number of this end of the pipe.
start_warning() {
  if [[ $warned ]]; then return 0; fi
  warned=yes
  exec {warning}> >(SLURM_OVERLAP=1 "${on_each_node[@]}" warn_node)
  warning_step=$!
}

# stop_warning: closes the pipe. The step ends; otherwise Slurm would report it as cancelled.
stop_warning() {
  if [[ ! $warned ]]; then return 0; fi
  exec {warning}>&-
  wait "$warning_step" || true
}

# run_ranks: starts the ranks, and returns when they have ended. Slurm warns this shell alone, and bash runs the
# trap only when no command is in front: so the ranks run in the background.
run_ranks() {
  local ranks
  if [[ $warned ]]; then return 0; fi  # it is too late to start
  { trap : TERM; start_ranks; } &
  ranks=$!
  while kill -0 "$ranks" 2> /dev/null; do wait "$ranks" || true; done  # the warning ends a wait early
  wait "$ranks"  # for its exit status
}

warned=""
trap start_warning USR1
