for ((restart = 1; status && restart <= max_restarts; restart++)); do
  echo "jobgen: the program failed on a node: all nodes start again," \
    "restart $restart of $max_restarts" >&2
  status=0
  run_ranks || status=$?
done
