evidence() {  # what this node knows of a failure; jobgen why reads it
  mkdir -p "$logs/$host"
  {
    df -P /dev/shm "$logs" "${TMPDIR-/tmp}"
    grep -H oom_kill /proc/vmstat
    nvidia-smi --query-gpu=index,ecc.errors.uncorrected.volatile.total --format=csv
    dmesg --since "$(date -r "$logs/job.sh" "+%F %T")" | grep -E "oom-kill|Killed|Xid"
  } > "$logs/$host/evidence" 2>&1 || true
}
