# wait_for_nodes: until all nodes have ended, or one with another status than 0; `failed` is then its file.
wait_for_nodes() {
  while sleep 0.5; do
    failed=$(cd "$folder" && grep -Lx 0 ended.* 2> /dev/null | head -n 1) || true
    if [[ $failed ]] || (($(nodes_with ended | wc -l) == nodes)); then return 0; fi
  done
}
