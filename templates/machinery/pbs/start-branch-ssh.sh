# start_branch: what node $2 does: it starts the nodes below it, then its own guard. If ssh is gone, all of them end.
start_branch() {
  : > "$folder/begun.$2"
  start_below "$@"
  { status=0; (start_guard "$2") || status=$?; note_end "$2" "$status"; } < <(exec tail -f --pid=$$ /dev/null) &
  while [[ $(jobs -pr) ]]; do read -r -t 1 || (($? > 128)) || exit 1; done  # 1: the end of standard input
}
