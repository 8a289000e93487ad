PATH=$PATH:/usr/sbin:/sbin  # some systems have ss there
host=$(uname -n) head=127.0.0.1 each_node=(true)
find_address() { address=127.0.0.$((node + 1)); }  # each node here has one of its own
fail() { echo "jobgen: $host: $*" >&2; exit 1; }  # which node, what is wrong, what to type
container() { "$@"; }  # there is none: commands run as they are

check_torch() {  # python3 finds torch, and its version; importing it would take seconds
  torch=$(container python3 -c 'import importlib.metadata as m, importlib.util as u, sys
u.find_spec("torch") or sys.exit("no module torch")
print("torch", *[each.version for each in m.distributions(name="torch")][:1])' 2>&1 | tail -n 1) ||
    fail "python3 has no torch: $torch: see software() in the script"
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

check_node() { software; check_torch; echo "jobgen: this machine is ready: $torch"; }
stop_nodes() {  # ends all nodes; torchrun gives its ranks 30 s
  local pid limit=$((SECONDS + 35))
  trap "" INT TERM
  for pid in "${pids[@]}"; do kill -- "-$pid" 2> /dev/null || true; done
  for pid in "${pids[@]}"; do
    while kill -0 -- "-$pid" 2> /dev/null; do
      ((SECONDS < limit)) || kill -KILL -- "-$pid" 2> /dev/null || true
      sleep 0.1
    done
  done
}

[[ ! ${port-} || ! $(ss -Hltn "sport = :$port") ]] ||
  fail "port $port is used: --set network.port=N"
[[ ! ${program-} || -r $program ]] || fail "no program $program in $PWD: go to its folder"
ready=$(set -e; check_node)  # else a set-up that fails would go on
echo "$ready"
for ((node = 0; node < nodes; node++)); do mkdir -p "$logs/node$node"; done
trap 'end_job "$?"; exit "$status"' EXIT
echo "$ready" 2> /dev/null > "$logs/roll-call" || true
record 2> /dev/null || true
# A job that ends at once removes the folder before tee has opened its file.
exec 2> >(trap "" INT TERM; tee -a "$logs/stderr" >&2 2> /dev/null || cat > /dev/null)
pids=() status=0
trap 'outside="was ended from outside"; stop_nodes; exit 143' TERM
trap 'outside="was ended from outside"; stop_nodes; exit 130' INT
set -m  # a process group for each node
for ((node = 0; node < nodes; node++)); do
  (host=node$node run_node "$head") < /dev/null &
  pids+=("$!")
done
for _ in "${pids[@]}"; do
  wait -n || { status=$?; ((nodes == 1)) || sleep 2; break; }  # others report theirs
done
stop_nodes
((status == 0)) || exit "$status"
