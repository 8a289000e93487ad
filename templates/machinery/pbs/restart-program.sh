start_all
wait_for_nodes
for ((restart = 1; restart <= max_restarts; restart++)); do
  [[ $failed ]] || break
  echo "jobgen: the program failed on a node: all nodes start again, restart $restart of $max_restarts" >&2
  stop_nodes || break
  folder=$PWD/.jobgen.$job/$restart  # a node may still see the old files
  mkdir "$folder"
  start_all
  wait_for_nodes
done
