# start_nodes: starts the guards. A node counts as failed if its guard ends and has not written a status.
start_nodes() {
  {
    status=0
    start_by_mpiexec || status=$?
    sleep 3  # a file of another node takes a moment to appear here
    for i in "${!hosts[@]}"; do
      if [[ -d $folder && ! -e $folder/ended.$i ]]; then write_file "ended.$i" "$((status ? status : 1))"; fi
    done
  } < /dev/null &
}
