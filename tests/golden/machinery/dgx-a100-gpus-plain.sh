PATH=$PATH:/usr/sbin:/sbin  # some systems have ip and ss there
mapfile -t hosts < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
node=$SLURM_NODEID

find_address() {  # this node's address and interface, on its way to another node of the job
  local other=${hosts[node == 0]-${hosts[0]}}  # the first or the second; of IPv4, if there is one
  read -r peer _ < <(getent ahostsv4 "$other" || getent ahosts "$other") || true
  read -r interface address < <(ip -o route get "${peer:-unknown}" |
    sed -n 's/.* dev \([^ ]*\) .*src \([^ ]*\).*/\1 \2/p') || true
}

if (($#)); then head=$1; find_address; software; ranks; exit; fi  # each node runs a copy of this
trap 'rm -rf "$logs"' EXIT
install -D -m 700 "$0" "$logs/job.sh"
start_ranks+=("$logs/job.sh")
find_address
"${start_ranks[@]}" "$address" < /dev/null
