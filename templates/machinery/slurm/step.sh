# end_ranks: TERM for torchrun and its ranks, but not for srun, which would kill them at once.
end_ranks() { grep -lszx "JOBGEN_JOB=$job" /proc/[0-9]*/environ | tr -dc '0-9\n' | xargs -r kill 2> /dev/null || true; }

# run_step: runs a container, which is a step of its own.
run_step() {
  local step status=0
  trap end_ranks TERM
  "$@" &
  step=$!
  while kill -0 "$step" 2> /dev/null; do wait "$step" || true; done
  wait "$step" || status=$?
  return "$status"
}
