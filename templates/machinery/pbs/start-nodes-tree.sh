# start_nodes: starts the guards, as a tree: this script starts the first nodes, and each node those below it.
start_nodes() {
  start_below "$fan_out" -1
}

# start_below: starts the nodes below node $2, at most $1; -1 is this script, below which the first nodes are.
start_below() {
  local i first=$(($1 * ($2 + 1)))
  node_command=(bash "$folder/node.sh" start_branch "$1")
  for ((i = first; i < first + $1 && i < nodes; i++)); do watch_node "$1" "$i" < /dev/null & done
}

# watch_node: starts node $2, and waits for it. If it cannot be started, this starts the nodes below it, at most $1.
watch_node() {
  local status=0
  PBS_NODEFILE=$PWD/.jobgen.$job/nodefile start_node "$2" || status=$?  # PBS may keep its own on the first node alone
  note_end "$2" "$status"
  if [[ -d $folder && ! -e $folder/begun.$2 ]]; then start_below "$1" "$2"; wait; fi
}

# note_end: node $1 counts as failed if what runs it has ended, with status $2, and the node has not written its own.
note_end() {
  sleep 3  # a file of another node takes a moment to appear here
  if [[ -d $folder && ! -e $folder/ended.$1 ]]; then write_file "ended.$1" "$(($2 ? $2 : 1))"; fi
}
