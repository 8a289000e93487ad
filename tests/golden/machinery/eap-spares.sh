PATH=$PATH:/usr/sbin:/sbin:/opt/pbs/bin  # some systems have ip and ss there, and PBS its commands
mapfile -t hosts < <(awk 'NF && !seen[$1]++ { print $1 }' "$PBS_NODEFILE")  # a line a process
node=${JOBGEN_NUMBER-0} host=${JOBGEN_HOST-${hosts[0]}}
fail() { echo "jobgen: $host: $*"; exit 1; }  # which node, what is wrong, what to type
container() { "$@"; }  # there is none: commands run as they are

find_address() {  # this node's address on the job's interface: of IPv4 if it has one; or empty
  address=$(ip -br addr show dev "$interface" | awk '{ sub("/.*", "", $3); print $3 }') || true
}

check_torch() {  # torch sees the GPUs that the job asked for; a banner may come before its line
  torch=$(container python3 -c "import torch as t; found, of = t.$gpu_api.device_count(), 'GPUs'
if hasattr(t._C, '_nccl_version'):
    of += f', CUDA {t.version.cuda}, NCCL ' + '.'.join(map(str, t.cuda.nccl.version()))
print('torch', t.__version__, 'sees', found, of); exit(found != $gpus)" 2>&1 | tail -n 1) ||
    fail "$torch; the job asked for $gpus GPUs: see software() in the script, or change -G"
  torch+=$(grep -so " [0-9]*\.[0-9.]*" /proc/driver/nvidia/version | sed 's/^/, driver/;q') || true
}

find_plugin() {  # sets plugin: aws-ofi-nccl's version, a text in the file that NCCL or RCCL loads
  read -r plugin < <(tr : '\0' <<< "${LD_LIBRARY_PATH-}:" | xargs -0 -I % find % -maxdepth 1 \
    -name "lib?ccl-net*.so" -exec grep -aoh "aws-ofi-nccl [0-9][0-9.]*" {} + 2> /dev/null) || true
}

check_node() {  # prints the answer of this node in the roll call: it is ready, or what is wrong
  [[ $(uname -m) == "${arch:=$(uname -m)}" ]] || fail "it is not $arch: --set node.arch=$(uname -m)"
  find_address
  [[ $address && ($nodes == 1 || $address != @(127.*|::1|fe80:*)) ]] ||
    fail "no address on ${interface:-any interface}: --set network.interface=NAME, one of $(
      ip -br addr show up scope global | awk '{ sub("@.*", "", $1); print $1, $3 }' | paste -sd ,)"
  ((node > ${spares:-0})) || [[ ! $(ss -Hltn "sport = :$port") ]] ||
    fail "port $port is used: --set network.port=N"  # of each node that may be the first one
  [[ ! ${program-} || -r $program ]] || fail "no program $program in $PWD: submit from its folder"
  software 2> "$logs/set-up.$host"  # kept until it is over: it may have the reason of a failure
  cat "$logs/set-up.$host" >&2; rm "$logs/set-up.$host"
  check_torch
  allowed=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc) cure=request.cpus_per_node=N
  ((${SLURM_CPUS_ON_NODE:-0} < ${cores:-0})) || cure=launch.cpu_bind=none  # this step has them
  ((4 * allowed > ${cores:-0} || allowed == $(nproc --all))) ||
    fail "$allowed of $cores cores for its ranks (bound: ${SLURM_CPU_BIND-no}): --set $cure"
  echo "jobgen: $host is ready, $address on $interface: $torch${plugin:+, $plugin}," \
    "$allowed cores${cores:+, $cores expected}, memlock $(ulimit -l), open files $(ulimit -n)"
}

run_node() {  # the launcher of this node; the lines of a rank begin with its node and number
  head=$1 node=${2-$node}  # the address of the first node, and this node's number
  grep -H oom_kill /proc/vmstat > "$logs/$host/oom_kill" || true  # killed for memory until now
  unset "${!PET_@}"  # torchrun would take them for options
  export TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE="$host rank \${rank}: "
  trap "" USR1 USR2  # they are for ranks with a handler, and would end torchrun
  find_address
  software
  ranks
}

evidence() {  # what this node knows of a failure; jobgen why reads it
  {
    df -P /dev/shm "$logs" "${TMPDIR-/tmp}"
    grep -He oom_kill -e "^[0-9]" /proc/vmstat /proc/uptime
    nvidia-smi --query-gpu=index,ecc.errors.uncorrected.volatile.total --format=csv
    dmesg | grep -E "oom-kill|Killed|Xid"
  } > "$logs/$host/evidence" 2>&1 || true
}

python=/usr/libexec/platform-python  # the system's own: no module changes it
[[ -x $python ]] || python=/usr/bin/python3
env -u LD_LIBRARY_PATH -u LD_PRELOAD "$python" -I -S -c 'f""' 2> /dev/null ||  # f"": 3.6
  fail "no /usr/bin/python3 of 3.6 or newer, which the keeper needs: --plain needs none"

record() {  # [STATUS]: what jobgen runs reads of this job; mv puts the whole file in place
  local sum="" end="" copy file=${logs%/*}/${id-$job}.json
  if [[ -f $0 ]]; then  # a pipe can be read only once
    read -r sum _ < <(sha256sum "$0")
    copy=${logs%/*}/scripts/$sum.sh
    [[ -e $copy ]] || { install -D -m 600 "$0" "$copy.$job" && mv "$copy.$job" "$copy"; }
  fi
  [[ ! ${1-} ]] || end=", \"end\": $(date +%s), \"status\": $1, \"outside\": \"${outside-}\""
  cat > "$file.new" << JSON && mv "$file.new" "$file"
{"job": "${id-$job}", "script": "$sum", "nodes": "${hosts[*]-$host}", "logs": "${logs##*/}",
 "ready": "$(sed -n '/ is ready/ { s/[[:cntrl:]"\\]//g; p; q }' "$logs/roll-call" 2> /dev/null)",
 "begin": $(($(date +%s) - SECONDS))${code-}$end}
JSON
}

find_status() {  # of the rank that failed first: torchrun ends with 1, srun with its highest one
  local code
  sleep 1  # tee may be behind
  code=$(sed -nE '/^Root Cause/,/exitcode/s/^  (time|exitcode) +: (\S+).*/\2/p' "$logs/stderr" |
    paste - - | sort -sk 1,1 | head -n 1)  # the earliest report of a torchrun: its time, the code
  code=${code:-$first}  # else the line of srun or a node; a signal becomes -9, as torchrun has it
  code=${code/: Killed*/ -9} code=${code/: Segmentation*/ -11} code=${code/ signal / -}
  code=${code##*[[:space:]]}
  if [[ $code =~ ^-?[1-9][0-9]*$ ]]; then status=$((code > 0 ? code : 128 - code)); fi
}

end_job() {  # after a failure, the last lines say what is certain, and where the evidence is
  status=$1  # of the job; a full disk must not change it, so each line has a || true
  ((status)) || record 0 2> /dev/null || true
  if ((status == 0)); then [[ ${keep_logs-} ]] || rm -r "$logs" || true; return; fi
  [[ ${outside-} ]] || timeout -k 9 15 "${each_node[@]}" evidence > "$logs/evidence" 2>&1 || true
  first=$(grep -sm 1 -E "^(srun|jobgen): .*(code|ended|illed|fault|answers|started)" \
    "$logs/stderr" || true)
  [[ ${outside-} || $status == 93 || ! -e $logs/stderr ]] || find_status || true
  echo "$status after $SECONDS s ${outside-}" > "$logs/status" || true
  record "$status" 2> /dev/null || true
  [[ ! $first ]] || echo "$first" >&2 || true
  echo "jobgen: the job ${outside-failed}, with status $status: jobgen why $job reads $logs" >&2
  ([[ -e $logs/set-up.$host ]] || software &> /dev/null  # jobgen may be there; it may hang, though
    "${jobgen-jobgen}" why --line "$logs" 2> /dev/null | tee "$logs/verdict") >&2 || true
}

show_set_up() {  # of a node without an answer: what its set-up wrote, and the reason in it
  local file=$logs/set-up.$1 cause
  [[ -e $file ]] || { echo "jobgen: $1: no answer, see above"; return; }
  cat "$file" >&2
  cause=$(grep -iE "error|not ?found|no such" "$file" | tail -n 1 || tail -n 1 "$file")
  echo "jobgen: $1: its set-up stopped at: ${cause:-no message}: see software() in the script"
}

# Each node runs a copy of this script, with the name of a function. A check that fails has said
# why; with a status other than 0, mpiexec would end the checks of the other nodes, too.
if (($#)); then [[ $1 != check_node ]] || trap 'exit 0' EXIT; "$@"; exit; fi
((${#hosts[@]} == nodes + ${spares:-0})) || fail "${#hosts[@]} nodes, not $nodes: -N of jobgen"
find_address  # of the first node: the ranks meet there

# A node has no variable of this shell, so its copy of the script begins with them.
own='PBS_(NODENUM|TASKNUM|MOMPORT|JOBCOOKIE)|SLURM_(NODEID|PROCID|LOCALID)|HOSTNAME|SHLVL|TMPDIR|_'
own+='|HOST|.*_VISIBLE_DEVICES|GPU_DEVICE_ORDINAL|ZE_AFFINITY_MASK'  # each node has its own
[[ ! -e $logs ]] || mv "$logs" "$logs.$(date +%s)"  # the scheduler runs the job again
install -D -m 700 /dev/null "$logs/job.sh"
if [[ ${PBS_NODEFILE-} ]]; then cp "$PBS_NODEFILE" "$logs/hosts"; PBS_NODEFILE=$logs/hosts; fi
mapfile -t exported < <(compgen -e | grep -vxE "$own")
{ head -n 1 "$0"; declare -p "${exported[@]}"; printf 'cd %q\n' "$PWD"; cat "$0"; } > "$logs/job.sh"
for each in "${hosts[@]}"; do mkdir -p "$logs/$each"; done
printf '%s\n' "$keeper" > "$logs/keeper.py"
lead=(env -u LD_LIBRARY_PATH -u LD_PRELOAD "$python" -I -S "$logs/keeper.py" lead
  "$logs" "$address" "$((join_timeout - 3))" "$stop_grace")  # 3 s less: to name who is late
each_node=("${lead[@]}" 1 "${#hosts[@]}" "${hosts[*]}" "$starter" "$logs/job.sh")  # to stdout
start_ranks=("${lead[@]}" 2 0 "${hosts[*]}" "$starter" "$logs/job.sh")  # to stderr; 0 may fail
trap 'end_job "$?"; ! declare -F end_part > /dev/null || end_part  # orphaned keepers end meanwhile
  [[ ${outside-} || ! -e $logs/status ]] || sleep "$stop_grace"; exit "$status"' EXIT
trap 'outside="was ended from outside"; jobs -p | xargs -r kill 2> /dev/null || true
  timeout $((stop_grace + 3)) tail -f --pid="${!-}" /dev/null || true; exit 143' TERM  # qdel
record 2> /dev/null || true

# The roll call: all nodes are ready, or the job ends here and says which are not.
timeout -k 9 "$join_timeout" "${each_node[@]}" check_node | sort -u > "$logs/roll-call" || true
mapfile -t bad < <(printf '%s\n' "${hosts[@]}" |  # nodes that printed nothing
  grep -vxFf <(sed -n 's/.*jobgen: \([^: ]*\).*/\1/p' "$logs/roll-call"))
for each in "${bad[@]}"; do show_set_up "$each"; done >> "$logs/roll-call"
grep " is ready, " "$logs/roll-call" || true
grep -v " is ready, " "$logs/roll-call" >&2 || true
(($(grep -c " is ready, " "$logs/roll-call") >= nodes)) || exit 1
sed -n 's/.* is ready, [^ ]* on [^ ]* //p' "$logs/roll-call" | sort | uniq -c |  # each kind of node
  sed '1 { $ d }; s/^/jobgen: the nodes differ:/'  # nothing if there is one kind
mapfile -t ready < <(sed -n 's/^jobgen: \([^ ]*\) is ready, .*/\1/p' "$logs/roll-call" |
  grep -xFf - <(printf '%s\n' "${hosts[@]}"))
address=$(sed -n "s/^jobgen: ${ready[0]} is ready, \([^ ]*\) .*/\1/p" "$logs/roll-call")

# The ranks run on the first nodes that are ready; the others are in reserve.
chosen=$(IFS=,; echo "${ready[*]:0:nodes}")
reserve=$(IFS=,; echo "${ready[*]:nodes}")
echo "jobgen: the ranks run on $chosen; in reserve: ${reserve:-no node}" >&2
in_reserve=$((${#ready[@]} - nodes))  # the last ones; they replace nodes that are lost
start_ranks=("${lead[@]}" 2 "$in_reserve" "${ready[*]}" "$starter" "$logs/job.sh")

run_ranks() {  # starts the ranks, and returns their status; this shell hears signals meanwhile
  rm -f "$logs/orders/end"  # of the time before
  [[ ! -e $logs/stderr ]] || mv "$logs/stderr" "$logs/stderr.before"
  (trap "" TERM; exec "${start_ranks[@]}" run_node "$address") \
    2> >(trap "" TERM; tee -a "$logs/stderr" >&2 || cat > /dev/null) < /dev/null &
  while kill -0 "$!" 2> /dev/null; do wait "$!" || true; done
  wait "$!"
}

status=0
run_ranks || status=$?
((status == 0)) || exit "$status"
