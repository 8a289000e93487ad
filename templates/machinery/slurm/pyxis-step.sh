# remove_container: no container stays on the node. Where pyxis has container_scope=job, its name has the job first.
remove_container() {
  local name
  for name in $(enroot list 2> /dev/null | grep -Ex "pyxis_(${job}_)?jobgen-$job-$node"); do
    enroot remove --force "$name" > /dev/null 2>&1 || echo "jobgen: $host: enroot does not remove the container $name" >&2
  done
}

# run_container: runs a container; the ranks use the one of the check, and then it is removed.
run_container() {
  [[ ${report-} ]] || trap remove_container EXIT
  run_step "$@"
}

# remove_unused: removes the container of the check, on a node whose ranks do not start.
remove_unused() { interface=${interface-}; software; remove_container; }
