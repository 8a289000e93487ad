# start_node: starts one node, and returns when it has ended. pbsdsh numbers the lines of the node file.
start_node() {
  local line
  line=$(awk -v host="${hosts[$1]}" '$1 == host { print NR - 1; exit }' "$PBS_NODEFILE")
  pbsdsh -n "$line" -- "${node_command[@]}" "$1"
}
