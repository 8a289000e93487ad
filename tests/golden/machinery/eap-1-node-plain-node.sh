PATH=$PATH:/usr/sbin:/sbin:/opt/pbs/bin  # some systems have ip and ss there, and PBS its commands
mapfile -t hosts < <(awk 'NF && !seen[$1]++ { print $1 }' "$PBS_NODEFILE")  # a line a process
host=$(uname -n)
for node in "${!hosts[@]}"; do [[ ${hosts[node]%%.*} != "${host%%.*}" ]] || break; done
[[ ${#hosts[@]} == 1 || ${hosts[node]%%.*} == "${host%%.*}" ]] ||
  { echo "jobgen: $host: the node file has it by another name" >&2; exit 1; }
host=${hosts[node]}

find_address() {  # this node's address on the job's interface: of IPv4 if it has one; or empty
  address=$(ip -br addr show dev "$interface" | awk '{ sub("/.*", "", $3); print $3 }') || true
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
start_ranks+=("$logs/job.sh")
find_address
"${start_ranks[@]}" "$address" < /dev/null
