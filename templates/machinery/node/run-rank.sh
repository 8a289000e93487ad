run_node() {  # one rank: the launcher starts this for each; what it writes is also in its files
  head=$1 rank=${SLURM_PROCID-${OMPI_COMM_WORLD_RANK-${PMI_RANK-${PALS_RANKID-0}}}}
  find_address
  local files=$logs/$host/rank-$rank label="s/^/$host rank $rank: /"
  mkdir -p "$files"
  grep -H oom_kill /proc/vmstat > "$logs/$host/oom_kill" || true
  software
  set -m  # a process group, to pass signals on; both tee end with the rank
  {
    trap "" TERM USR1 USR2
    {
      (trap - TERM; ranks) 2>&1 >&3 3>&- |
        tee "$files/stderr.log" | sed -u "$label" >&2 3>&-
    } 3>&1 | tee "$files/stdout.log" | sed -u "$label"
  } < /dev/null &
  trap 'kill -- "-$!"' TERM; trap 'kill -USR1 -- "-$!"' USR1; trap 'kill -USR2 -- "-$!"' USR2
  while kill -0 "$!" 2> /dev/null; do wait "$!" || true; done
  wait "$!"
}
