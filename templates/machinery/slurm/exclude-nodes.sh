# exclude_nodes: puts the job back into the queue without the nodes that are not ready. Not if no node is ready, which is no
# node's fault; and not if the job would exclude more than exclude_at_most. The job's comment keeps their names.
exclude_nodes() {
  local job comment own reason
  [[ $lines == *" is ready"* ]] || return 0
  job=$(scontrol show job "$id")
  comment=$(sed -n "s/ *jobgen excludes.*//; s/^ *Comment=\(.*[^ ]\) *$/\1 /p" <<< "$job")
  own=$(sed -n "s/^ *Comment=.*jobgen excludes \([^ ]*\): .*/\1,/p" <<< "$job")
  reason=$(grep -v " is ready" <<< "$lines" | cut -c 9-250)
  own+=$(cut -d : -f 1 <<< "$reason" | paste -sd ,)
  (($(tr , "\n" <<< "$own" | wc -l) <= exclude_at_most)) ||
    fail "the job would exclude $own, more than $exclude_at_most: look at them, or --set launch.exclude_at_most=N"
  scontrol update JobId="$id" Comment="${comment}jobgen excludes $own: ${reason##*$'\n'}"
  trap "" TERM  # Slurm ends this script now
  scontrol requeue "$id" || fail "Slurm does not requeue the job"
  echo "jobgen: the job goes back to the queue, without $own" >&2
  scontrol update JobId="$id" ExcNodeList="$(sed -n "s/.* ExcNodeList=\([^(].*\)/\1,/p" <<< "$job")$own" || scancel "$id"
}
