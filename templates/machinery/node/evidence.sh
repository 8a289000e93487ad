evidence() {  # what this node knows of a failure; jobgen why reads it
  {
    df -P /dev/shm "$logs" "${TMPDIR-/tmp}"
    grep -He oom_kill -e "^[0-9]" /proc/vmstat /proc/uptime
    nvidia-smi --query-gpu=index,ecc.errors.uncorrected.volatile.total --format=csv
    dmesg | grep -E "oom-kill|Killed|Xid"
  } > "$logs/$host/evidence" 2>&1 || true
}
