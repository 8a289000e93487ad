host=$(uname -n)
for node in "${!hosts[@]}"; do [[ ${hosts[node]%%.*} != "${host%%.*}" ]] || break; done
[[ ${#hosts[@]} == 1 || ${hosts[node]%%.*} == "${host%%.*}" ]] ||
  { echo "jobgen: $host: the node file has it by another name" >&2; exit 1; }
host=${hosts[node]}
