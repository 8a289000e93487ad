# roll_call: fails if a node is not ready: its last lines say which, and why. And how nodes differ.
roll_call() {
  local differ
  lines=$({
    timeout --kill-after=10 "$join_timeout" "${on_each_node[@]}" check_node || true
    scontrol show hostnames "$SLURM_JOB_NODELIST" |
      sed "s/.*/jobgen: &: no answer: its set-up failed, see above, or takes more than $join_timeout s/"
  } | awk -W interactive -F "[: ]+" '/^jobgen: / && !seen[$2]++ {  # the first line of each host
    srand(); now = srand(); if (/, clock /) sub(/[0-9]+$/, sprintf("%+d s", $NF - now)); print }' 2> /dev/null | sort)
  grep " is ready" <<< "$lines" || true
  differ=$(sed -n 's/, clock .[0-2] s$//; s/.* is ready.*, node [0-9]*, //p' <<< "$lines" | sort | uniq -c)
  if [[ $differ == *$'\n'* ]]; then echo "jobgen: the nodes differ: ${differ//$'\n'/; }"; fi
  ! grep -v " is ready" <<< "$lines" >&2
}
