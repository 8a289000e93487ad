# start_branch: what node $2 does: it starts the nodes below it, then its own guard, and stays until all have ended.
start_branch() {
  : > "$folder/begun.$2"
  start_below "$@"
  { status=0; (start_guard "$2") || status=$?; note_end "$2" "$status"; } &
  wait
}
