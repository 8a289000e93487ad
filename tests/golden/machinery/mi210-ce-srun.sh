PATH=$PATH:/usr/sbin:/sbin  # some systems have ip and ss there
mapfile -t hosts < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
host=$SLURMD_NODENAME node=$SLURM_NODEID
fail() { echo "jobgen: $host: $*"; exit 1; }  # which node, what is wrong, what to type

find_address() {  # this node's address and interface, on its way to another node of the job
  read -r peer _ < <(getent ahostsv4 "${hosts[node == 0]}") || true  # the first or the second
  read -r interface address < <(ip -4 -o route get "${peer:-unknown}" |
    sed -n 's/.* dev \([^ ]*\) .*src \([^ ]*\).*/\1 \2/p') || true
}

check_torch() {  # torch sees the GPUs that the job asked for; a banner may come before its line
  torch=$(container python3 -c "import torch; found = torch.$gpu_api.device_count()
print('torch', torch.__version__, 'sees', found, 'GPUs'); exit(found != $gpus)" 2>&1 | tail -n 1) ||
    fail "$torch; the job asked for $gpus GPUs: see software() in the script, or change -G"
}

check_node() {  # prints the answer of this node in the roll call: it is ready, or what is wrong
  [[ $(uname -m) == "${arch:=$(uname -m)}" ]] || fail "it is not $arch: --set node.arch=$(uname -m)"
  find_address
  [[ $address && ($nodes == 1 || $address != 127.*) ]] ||
    fail "no address on ${interface:-any interface}: --set network.interface=NAME, one of $(
      ip -4 -br addr show up | awk '{ sub("@.*", "", $1); print $1, $3 }' | paste -sd ,)"
  ((node > ${spares:-0})) || [[ ! $(ss -Hltn "sport = :$port") ]] ||
    fail "port $port is used: --set network.port=N"  # of each node that may be the first one
  [[ ! ${program-} || -r $program ]] || fail "no program $program in $PWD: submit from its folder"
  software
  check_torch
  echo "jobgen: $host is ready, $address on $interface: $torch," \
    "$(env -u OMP_NUM_THREADS nproc) cores, memlock $(ulimit -l), open files $(ulimit -n)"
}

evidence() {  # what this node knows of a failure; jobgen why reads it
  {
    df -P /dev/shm "$logs" "${TMPDIR-/tmp}"
    grep -He oom_kill -e "^[0-9]" /proc/vmstat /proc/uptime
    nvidia-smi --query-gpu=index,ecc.errors.uncorrected.volatile.total --format=csv
    dmesg | grep -E "oom-kill|Killed|Xid"
  } > "$logs/$host/evidence" 2>&1 || true
}

end_job() {  # after a failure, the last lines say what is certain, and where the evidence is
  local status=$?  # of the job; a full disk must not change it, so each line has a || true
  if ((status == 0)); then [[ ${keep_logs-} ]] || rm -r "$logs" || true; return; fi
  echo "$status after $SECONDS s ${outside-}" > "$logs/status" || true
  [[ ${outside-} ]] || timeout -k 9 15 "${each_node[@]}" evidence > "$logs/evidence" 2>&1 || true
  grep -sm 1 -E "^(srun|jobgen): .*(code|ended|illed|answers|started)" "$logs/stderr" >&2 || true
  echo "jobgen: the job ${outside-failed}, with status $status: jobgen why $job reads $logs" >&2
  (software &> /dev/null && "${jobgen-jobgen}" why --line "$logs" 2> /dev/null) >&2 || true
}

# Each node runs a copy of this script, with the name of a function. srun may lose a last line.
if (($#)); then trap '(($?)) && sleep 1' EXIT; "$@"; exit; fi
((${#hosts[@]} == nodes + ${spares:-0})) || fail "${#hosts[@]} nodes, not $nodes: -N of jobgen"
find_address  # of the first node: the ranks meet there
install -D -m 700 "$0" "$logs/job.sh"
for each in "${hosts[@]}"; do mkdir -p "$logs/$each"; done
each_node+=("$logs/job.sh")
trap end_job EXIT
trap 'outside="was ended from outside"  # by Slurm, which ends the ranks, too
  timeout 25 tail -f --pid="${!-}" /dev/null || true; exit 143' TERM  # waits for srun

# The roll call: all nodes are ready, or the job ends here and says which are not.
timeout -k 9 "$join_timeout" "${each_node[@]}" check_node | sort -u > "$logs/roll-call" || true
mapfile -t bad < <(printf '%s\n' "${hosts[@]}" |  # nodes that printed nothing
  grep -vxFf <(sed -n 's/.*jobgen: \([^: ]*\).*/\1/p' "$logs/roll-call"))
[[ ! ${bad[*]} ]] || printf 'jobgen: %s: no answer, see above\n' "${bad[@]}" >> "$logs/roll-call"
grep " is ready, " "$logs/roll-call" || true
grep -v " is ready, " "$logs/roll-call" >&2 || true
(($(grep -c " is ready, " "$logs/roll-call") >= nodes)) || exit 1
sed -n 's/.* is ready, [^:]*: //p' "$logs/roll-call" | sort | uniq -c |  # each kind of node
  sed '1 { $ d }; s/^/jobgen: the nodes differ:/'  # nothing if there is one kind

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
