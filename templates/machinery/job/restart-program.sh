for ((restart = 1; status && restart <= max_restarts; restart++)); do
  ! ended_for_good || break
  echo "jobgen: the program failed on a node: all nodes start again," \
    "restart $restart of $max_restarts" >&2
  # mpirun and mpiexec may return before the keepers have ended what is left.
  [[ ! ${stop_grace-} ]] || sleep $((stop_grace + 3))
  status=0
  run_ranks || status=$?
done
