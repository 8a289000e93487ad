if [[ -e $logs/orders/warn ]] && ((status == 0)); then
  echo "jobgen: the ranks have saved and ended: the job goes back to the queue" >&2
  trap 'outside="goes back to the queue"; exit 0' TERM  # Slurm ends this script now
  scontrol requeue "$id" || fail "Slurm does not requeue the job: submit again to continue"
  sleep 60 & wait "$!"
fi
