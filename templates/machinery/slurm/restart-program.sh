status=0
run_ranks || status=$?
for ((restart = 1; restart <= max_restarts; restart++)); do  # srun has ended the program on all nodes
  ((status)) || break
  ${spares:+choose_nodes} || { ${exclude_at_most:+exclude_nodes}; break; }
  echo "jobgen: the program failed on a node: all nodes start again, restart $restart of $max_restarts" >&2
  status=0
  run_ranks || status=$?
done
