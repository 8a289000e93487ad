# last_words: how full the disks of this node are, its GPUs' errors, and what the kernel has noted since its ranks began.
last_words() {
  echo "jobgen: $host: last words: $({
    cd "$logs/$host"
    timeout 5 df -P /dev/shm . "${TMPDIR-/tmp}" | awk 'NR > 1 { print $6, $5 }'
    timeout 5 nvidia-smi --query-gpu=ecc.errors.uncorrected.volatile.total --format=csv,noheader |
      awk '$1 + 0 { print "uncorrectable ECC errors on GPU", NR - 1 }'
    dmesg --since "$(date -r oom_kill "+%F %T")" | sed -n 's/.*NVRM: Xid ([^)]*): \([0-9]*\).*/Xid \1/p'
    awk '$1 == "oom_kill" { killed = $2 - killed } END { if (killed) print "out of memory (oom_kill +" killed "):" \
      " ask for more with --set request.memory=SIZE, or use fewer workers" }' oom_kill /proc/vmstat
  } 2> /dev/null | awk '!seen[$0]++' | paste -sd ,)"
}
