# wait_for_nodes: until mpiexec has ended, or a guard, or a rank has failed; `failed` is then the file of one that failed.
wait_for_nodes() {
  until [[ $(nodes_with ended; nodes_with failed) ]]; do warn_nodes; sleep 0.5; done
  failed=$(cd "$folder" && grep -sLx 0 failed.* ended.* | head -n 1) || true
}
