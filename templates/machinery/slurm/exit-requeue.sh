stop_warning
if [[ $warned ]] && ((status == 0)); then
  echo "jobgen: the walltime is near, and the ranks have ended: the job goes back to the queue, and continues later" >&2
  trap "exit 0" TERM  # Slurm ends this script now
  scontrol requeue "$id" || fail "Slurm does not requeue the job: submit again to continue"
  sleep 60 & wait "$!"
fi
((status == 0)) || exit "$status"
