# finish: however this script ends, it first stops the nodes. If a node failed, its last line is the reason.
finish() {
  local status=$? i removed=$PWD/.jobgen.$job.removed  # with folders of restarts
  trap "" TERM
  stop_nodes || true
  for i in $running; do echo "jobgen: ${hosts[i]}: does not say that it has stopped: look for processes there" >&2; done
  if [[ ${reason-} ]]; then echo "jobgen: $reason" >&2; fi
  end_job "$status" cat "$folder"/words.*
  [[ $running ]] || { mv "${removed%.*}" "$removed" && rm -rf "$removed"; } || true  # a starter may write to the old name
  exit "$status"
}
