# start_nodes: starts the guards. A node counts as failed if its guard ends and has not written a status.
start_nodes() {
  local i
  for i in "${!hosts[@]}"; do
    (
      status=0
      start_node "$i" || status=$?
      sleep 3  # a file of another node takes a moment to appear here
      if [[ -d $folder && ! -e $folder/ended.$i ]]; then write_file "ended.$i" "$((status ? status : 1))"; fi
    ) < /dev/null &
  done
}
