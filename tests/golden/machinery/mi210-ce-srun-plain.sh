PATH=$PATH:/usr/sbin:/sbin  # some systems have ip and ss there
mapfile -t hosts < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
node=0

find_address() {  # this node's address and interface, on its way to another node of the job
  local other=${hosts[node == 0]-${hosts[0]}}  # the first or the second; of IPv4, if there is one
  read -r peer _ < <(getent ahostsv4 "$other" || getent ahosts "$other") || true
  read -r interface address < <(ip -o route get "${peer:-unknown}" |
    sed -n 's/.* dev \([^ ]*\) .*src \([^ ]*\).*/\1 \2/p') || true
}

trap 'rm -rf "$logs"' EXIT
find_address

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
((status == 0)) || exit "$status"
