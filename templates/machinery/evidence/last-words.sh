# killed_for_memory: how many processes the kernel has killed for memory: of this job (where cgroups have version 2), of the node.
killed_for_memory() {
  grep -sHw oom_kill "/sys/fs/cgroup$(sed -n 's|/step_.*||; s/^0:://p' /proc/self/cgroup)/memory.events" /proc/vmstat || true
}

# last_words: how full the disks of this node are, its GPUs' errors, and what the kernel has noted since its ranks began.
last_words() {
  echo "jobgen: $host: last words: $({
    cd "$logs/$host"
    timeout 5 df -P /dev/shm . "${TMPDIR-/tmp}" | awk 'NR > 1 { print $6, $5 }'
    timeout 5 nvidia-smi --query-gpu=ecc.errors.uncorrected.volatile.total --format=csv,noheader |
      awk '$1 + 0 { print "uncorrectable ECC errors on GPU", NR - 1 }'
    dmesg --since "$(date -r oom_kill "+%F %T")" | sed -n 's/.*NVRM: Xid ([^)]*): \([0-9]*\).*/Xid \1/p'
    killed_for_memory | awk 'NR == FNR { start[$1] = $2; next } $1 in start && (killed = $2 - start[$1]) {
      print (/vmstat/ ? "memory ran out for this job or another" : "out of memory") " (oom_kill +" killed "):" \
        " ask for more with --set request.memory=SIZE, or use fewer workers"; exit }' oom_kill -
  } 2> /dev/null | awk '!seen[$0]++' | paste -sd ,)"
}
