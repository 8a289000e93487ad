host=$SLURMD_NODENAME each_node=(bash -c 'df -P /dev/shm .; cat /proc/uptime; dmesg; nvidia-smi')
fail() { echo "jobgen: $host: $*"; exit 1; }  # which node, what is wrong, what to type
if (($#)); then trap "" USR1 USR2; "$@"; exit; fi  # the step below runs this script again
container() { "$@"; }  # there is none: commands run as they are

check_torch() {  # torch sees the GPUs that the job asked for; a banner may come before its line
  torch=$(container python3 -c "import torch; found = torch.$gpu_api.device_count()
print('torch', torch.__version__, 'sees', found, 'GPUs'); exit(found != $gpus)" 2>&1 | tail -n 1) ||
    fail "$torch; the job asked for $gpus GPUs: see software() in the script, or change -G"
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

mkdir -p "$logs"
trap end_job EXIT
trap 'outside="was ended from outside"; exit 143' TERM  # Slurm tells the ranks
software
check_torch
echo "jobgen: $host is ready: $torch, $(env -u OMP_NUM_THREADS nproc) cores"
export TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE="$host rank \${rank}: "
(trap "" TERM; exec "${start_ranks[@]}" "$0" ranks 2> >(tee "$logs/stderr" >&2)) < /dev/null
