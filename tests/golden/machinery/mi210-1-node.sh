host=$SLURMD_NODENAME each_node=(bash -c 'df -P /dev/shm .; cat /proc/uptime; dmesg; nvidia-smi')
fail() { echo "jobgen: $host: $*"; exit 1; }  # which node, what is wrong, what to type
if (($#)); then trap "" USR1 USR2; "$@"; exit; fi  # the step below runs this script again

check_torch() {  # torch sees the GPUs that the job asked for; a banner may come before its line
  torch=$(container python3 -c "import torch as t; found, of = t.$gpu_api.device_count(), 'GPUs'
if hasattr(t._C, '_nccl_version'):
    of += f', CUDA {t.version.cuda}, NCCL ' + '.'.join(map(str, t.cuda.nccl.version()))
print('torch', t.__version__, 'sees', found, of); exit(found != $gpus)" 2>&1 | tail -n 1) ||
    fail "$torch; the job asked for $gpus GPUs: see software() in the script, or change -G"
  torch+=$(grep -so " [0-9]*\.[0-9.]*" /proc/driver/nvidia/version | sed 's/^/, driver/;q') || true
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

show_set_up() {  # of a node without an answer: what its set-up wrote, and the reason in it
  local file=$logs/set-up.$1 cause
  [[ -e $file ]] || { echo "jobgen: $1: no answer, see above"; return; }
  cat "$file" >&2
  cause=$(grep -iE "error|not ?found|no such" "$file" | tail -n 1 || tail -n 1 "$file")
  echo "jobgen: $1: its set-up stopped at: ${cause:-no message}: see software() in the script"
}

mkdir -p "$logs"
printf '%s\n' "$trainer" > "$program"
mkdir -p "$logs"
trap 'set -- "$?"
  [[ ! -e $logs/set-up.$host ]] || show_set_up "$host" | tee "$logs/roll-call" >&2 || true
  end_job "$1"; exit "$status"' EXIT
trap 'outside="was ended from outside"; exit 143' TERM  # Slurm tells the ranks
record 2> /dev/null || true
software 2> "$logs/set-up.$host"  # kept until it is over: it may have the reason of a failure
cat "$logs/set-up.$host" >&2; rm "$logs/set-up.$host"
check_torch
echo "jobgen: $host is ready: $torch" | tee "$logs/roll-call" || true
export TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE="$host rank \${rank}: "
(trap "" TERM; exec "${start_ranks[@]}" bash "$0" ranks 2> >(tee "$logs/stderr" >&2)) < /dev/null
