mapfile -t hosts < <(awk 'NF && !seen[$1]++ { print $1 }' "$PBS_NODEFILE")  # it has a line for each process
