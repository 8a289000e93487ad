end_ranks() {  # TERM for torchrun and its ranks, but not for srun, which would kill them at once
  grep -lszx "JOBGEN_JOB=$job" /proc/[0-9]*/environ | tr -dc '0-9\n' | xargs -r kill || true
}
run_step() {  # runs a container, which is a step of its own
  trap end_ranks TERM
  "$@" &
  while kill -0 "$!" 2> /dev/null; do wait "$!" || true; done
  wait "$!"
}
