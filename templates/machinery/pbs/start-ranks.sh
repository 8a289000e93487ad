# start_ranks: starts the ranks beside the guards. mpiexec has the files of one node more, so that all wait for it, too.
start_ranks() {
  hosts[nodes]=mpiexec
  : > "$folder/begun.$nodes"
  node_command=(env JOBGEN_JOB="$job" bash "$folder/node.sh" run_node)
  (
    trap : TERM  # PBS sends it to this shell, too; not to mpiexec, in another session
    status=0
    mpiexec_ranks exec setsid &
    until ! kill -0 "$!" 2> /dev/null || { is_ordered stop && (($(nodes_with ended | wc -l) == nodes)); }; do
      sleep 0.5 || true
    done
    sleep 1 || true
    kill -KILL "$!" 2> /dev/null || true  # all nodes have stopped; it may not learn that
    wait "$!" || status=$?
    write_file "ended.$nodes" "$status"
  ) < /dev/null &
}
