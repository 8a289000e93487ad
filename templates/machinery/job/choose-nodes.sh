# The ranks run on the first nodes that are ready; the others are in reserve.
mapfile -t ready < <(sed -n 's/^jobgen: \([^ ]*\) is ready, .*/\1/p' "$logs/roll-call" |
  grep -xFf - <(printf '%s\n' "${hosts[@]}"))
chosen=$(IFS=,; echo "${ready[*]:0:nodes}")
address=$(sed -n "s/^jobgen: ${ready[0]} is ready, \([^ ]*\) .*/\1/p" "$logs/roll-call")
reserve=$(IFS=,; echo "${ready[*]:nodes}")
echo "jobgen: the ranks run on $chosen; in reserve: ${reserve:-no node}" >&2
start_ranks=(srun --nodelist="$chosen" "${start_ranks[@]:1}")
