start_all
wait_for_nodes
# torchrun starts failed ranks again itself. If a torchrun was killed (137) or crashed (139), all nodes start again.
for ((restart = 1; restart <= max_restarts; restart++)); do
  [[ $failed ]] || break
  sleep 2  # an effect on another node may be seen here first
  grep -qxE "137|139" "$folder"/ended.* || break
  echo "jobgen: a torchrun was killed: all nodes start again, restart $restart of $max_restarts" >&2
  stop_nodes || break
  folder=$PWD/.jobgen.$job/$restart  # a node may still see the old files
  mkdir "$folder"
  start_all
  wait_for_nodes
done
