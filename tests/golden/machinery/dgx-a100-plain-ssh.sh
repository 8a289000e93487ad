PATH=$PATH:/usr/sbin:/sbin  # some systems have ip and ss there
mapfile -t hosts < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
host=$(uname -n)
for node in "${!hosts[@]}"; do [[ ${hosts[node]%%.*} != "${host%%.*}" ]] || break; done
[[ ${#hosts[@]} == 1 || ${hosts[node]%%.*} == "${host%%.*}" ]] ||
  { echo "jobgen: $host: the node file has it by another name" >&2; exit 1; }
host=${hosts[node]}

find_address() {  # this node's address and interface, on its way to another node of the job
  local other=${hosts[node == 0]-${hosts[0]}}  # the first or the second; of IPv4, if there is one
  read -r peer _ < <(getent ahostsv4 "$other" || getent ahosts "$other") || true
  read -r interface address < <(ip -o route get "${peer:-unknown}" |
    sed -n 's/.* dev \([^ ]*\) .*src \([^ ]*\).*/\1 \2/p') || true
}

if (($#)); then head=$1; find_address; software; ranks; exit; fi  # each node runs a copy of this
trap 'rm -rf "$logs"' EXIT

# A node has no variable of this shell, so its copy of the script begins with them.
own='PBS_(NODENUM|TASKNUM|MOMPORT|JOBCOOKIE)|SLURM_(NODEID|PROCID|LOCALID)|HOSTNAME|SHLVL|TMPDIR|_'
own+='|HOST|.*_VISIBLE_DEVICES|GPU_DEVICE_ORDINAL|ZE_AFFINITY_MASK'  # each node has its own
[[ ! -e $logs ]] || mv "$logs" "$logs.$(date +%s)"  # the scheduler runs the job again
install -D -m 700 /dev/null "$logs/job.sh"
if [[ ${PBS_NODEFILE-} ]]; then cp "$PBS_NODEFILE" "$logs/hosts"; PBS_NODEFILE=$logs/hosts; fi
mapfile -t exported < <(compgen -e | grep -vxE "$own")
{ head -n 1 "$0"; declare -p "${exported[@]}"; printf 'cd %q\n' "$PWD"; cat "$0"; } > "$logs/job.sh"
find_address
for each in "${hosts[@]}"; do
  "${starter[@]}" "$each" "$logs/job.sh" "$address" < /dev/null &
done
for _ in "${hosts[@]}"; do wait -n; done  # the first node that fails ends the job
