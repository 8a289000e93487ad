# stop_stalled: waits until no rank of the job has written a line for $stall minutes (before the first line: three times as long);
# then each rank on this node gets SIGABRT, and Python writes its stack. JOBGEN_ALIVE is a file that all nodes see.
stop_stalled() {
  local size changed limit pid ranks
  while sleep 5 && kill -0 "$launcher"; do
    if [[ $(find "$logs"/std* -newer "$JOBGEN_ALIVE" -size +0) ]]; then echo > "$JOBGEN_ALIVE"; fi
    read -r size changed < <(stat -L -c "%s %Y" - < "$JOBGEN_ALIVE")
    limit=$((changed + stall * 60 * (size ? 1 : 3)))
    (($(date +%s) > limit)) || continue
    sleep $((limit + 10 - $(date +%s)))  # so that all nodes do it at once: the end of one ends the others
    echo "jobgen: $host: no rank has printed a line for $stall minutes: each rank prints its stack, and ends"
    ranks=$(grep -lszxF "JOBGEN_ALIVE=$JOBGEN_ALIVE" /proc/[0-9]*/environ | xargs -r grep -lsz '^LOCAL_RANK=' | tr -dc '0-9\n')
    mapfile -t ranks < <(ps -o pid=,ppid= -p "${ranks//$'\n'/,}" |  # not what ranks have started
      awk '{ parent[$1] = $2 } END { for (pid in parent) if (!(parent[pid] in parent)) print pid }')
    for pid in "${ranks[@]}"; do timeout 20 py-spy dump --native --pid "$pid"; done
    : > "$logs/hung"
    kill -ABRT "${ranks[@]}"; : > "$JOBGEN_ALIVE"  # empty: ranks that start again have the longer time
  done
}

# watch_ranks: has stop_stalled watch the ranks of this node, where this task is the first ($1: its number there).
watch_ranks() {
  export PYTHONFAULTHANDLER=1 JOBGEN_ALIVE=$logs/alive
  : > "$JOBGEN_ALIVE"; launcher=$BASHPID
  (($1)) || (set +e; stop_stalled) 2> /dev/null &
}
