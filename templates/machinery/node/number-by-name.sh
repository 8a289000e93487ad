host=$(uname -n)
for node in "${!hosts[@]}"; do [[ ${hosts[node]%%.*} != "${host%%.*}" ]] || break; done
host=${hosts[node]}
