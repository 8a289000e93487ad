# start_nodes: starts the guards. Slurm kills them as soon as mpirun has ended, so this notes the end of their nodes.
start_nodes() {
  {
    trap : TERM  # Slurm sends it to all processes here
    status=0
    start_by_mpiexec || status=$?
    sleep 3 || true  # a file of another node takes a moment to appear here
    for i in "${!hosts[@]}"; do
      if [[ -d $folder && ! -e $folder/ended.$i ]]; then write_file "ended.$i" "$((status ? status : 1))"; fi
    done
  } < /dev/null &
}
