status=0
run_ranks || status=$?
# torchrun starts failed ranks again itself. If a torchrun was killed (137) or crashed (139), all nodes start again. srun
# reports the highest status: that of a torchrun that it ended then (143) hides the other.
for ((restart = 1; restart <= max_restarts; restart++)); do
  ((status == 137 || status == 139 || status == 143)) || break
  echo "jobgen: a torchrun was killed: all nodes start again, restart $restart of $max_restarts" >&2
  status=0
  run_ranks || status=$?
done
