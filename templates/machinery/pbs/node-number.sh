# node_number: the number of this node, by its name: mpiexec numbers its processes as it likes.
node_number() {
  local i name
  name=$(uname -n)  # HOSTNAME may be the first node's, if it was exported there
  for i in "${!hosts[@]}"; do
    if [[ ${hosts[i]%%.*} == "${name%%.*}" ]]; then echo "$i"; return; fi
  done
  echo "jobgen: $name: it is none of the job's hosts" >&2
  return 1
}
