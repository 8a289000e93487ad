# check_node: prints one line: this node is ready, or what is wrong there.
check_node() {
  exec 3>&1 1>&2; report=3  # that line alone goes to the roll call, all others to the log
  [[ ! $program || -r $program ]] ||
    fail "there is no program $program in $PWD: submit from its folder, or give its full path"
  software
  check_torch
  echo "jobgen: $host is ready, node 0, $torch, memlock $(ulimit -l), open files $(ulimit -n), clock $(date +%s)" >&3
}
