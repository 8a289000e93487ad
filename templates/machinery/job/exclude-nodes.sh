exclude_nodes() {  # back to the queue without nodes that are not ready; the comment names them
  local ready bad job comment before own
  ready=$(grep -sc " is ready, " "$logs/roll-call") || true
  if ((${ready:-0} == 0 || ready >= nodes)); then return; fi  # no node's fault, or the ranks ran
  bad=$(sed -n 's/^jobgen: \([^: ]*\): .*/\1/p' "$logs/roll-call" | sort -u | paste -sd ,)
  job=$(scontrol show job "$id")
  comment=$(sed -n 's/^ *Comment=//p' <<< "$job")
  before=$(sed -n 's/.* ExcNodeList=\([^ (]*\).*/\1/p' <<< "$job")  # the user's, too
  own=$(sed -n 's/.*jobgen excludes \([^ ]*\):.*/\1,/p' <<< "$comment")$bad
  if (($(tr , '\n' <<< "$own" | sort -u | wc -l) > exclude_at_most)); then
    echo "jobgen: it would exclude $own: look at them, or --set launch.exclude_at_most=N" >&2
    return
  fi
  scontrol update JobId="$id" Comment="${comment%%jobgen excludes *}jobgen excludes $own: $(
    grep -m 1 -v " is ready, " "$logs/roll-call" | cut -c 9-250)"
  scontrol requeue "$id" || return 0
  echo "jobgen: the job goes back to the queue, without $own" >&2
  scontrol update JobId="$id" ExcNodeList="${before:+$before,}$bad" || scancel "$id"
}

trap 'set -- "$?"; set +e; trap "" TERM; exclude_nodes; end_job "$1"; exit "$status"' EXIT
