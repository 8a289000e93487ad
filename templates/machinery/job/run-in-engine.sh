run_ranks() {  # srun starts the ranks in their containers, where no shell of this script is
  local values head=$address rank_step=("${start_ranks[@]:1}")
  printf -v values "head=%q port=%q nodes=%q program=%q workspace=%q;" \
    "$head" "$port" "$nodes" "${program-}" "${workspace-}"
  software
  (trap "" TERM; container bash -c "$values $(declare -f ranks); ranks") \
    2> >(trap "" TERM; tee -a "$logs/stderr" >&2 || cat > /dev/null) < /dev/null &
  while kill -0 "$!" 2> /dev/null; do wait "$!" || true; done
  wait "$!"
}

status=0
run_ranks || status=$?
