# torchrun starts failed ranks again. If a torchrun itself was killed (137) or crashed (139), all
# nodes start again; 143 is one that srun has ended for that.
for ((restart = 1; restart <= max_restarts; restart++)); do
  ((status == 137 || status == 139 || status == 143)) || break
  ! ended_for_good || break
  echo "jobgen: a torchrun was killed: all nodes start again, restart $restart of $max_restarts" >&2
  # mpirun and mpiexec may return before the keepers have ended what is left: it holds the port.
  [[ ! ${stop_grace-} ]] || sleep $((stop_grace + 3))
  status=0
  run_ranks || status=$?
done
