start_on() {  # starts torchrun on these nodes
  local start=$1
  shift
  (
    trap "" TERM
    exec srun --nodes=$# --ntasks=$# --nodelist="$(IFS=,; echo "$*")" "${start_ranks[@]:1}" \
      "$start" "$address"
  ) 2> >(trap "" TERM; tee -a "$logs/stderr" >&2 || cat > /dev/null) < /dev/null &
}

start_others() {  # on nodes that may be lost
  start_on run_beside "$@"
  others+=("$!")
  disown
}

fill_places() {  # a node in reserve takes the place of one that is lost; fails if there is none
  local remaining well lost near  # near: below the switches of lost nodes
  remaining=$(squeue -h -j "$id" -o %N) || return 0
  remaining=$(scontrol show hostnames "$remaining") || return 0
  well=$(printf '%s\n' "${ready[@]:0:next}" | grep -xFf <(echo "$remaining") |
    grep -vxFf <(sed -n 's/^jobgen: \(.*\): its place is free$/\1/p' "$logs/stderr")) || true
  if [[ ! $remaining ]] || (($(wc -w <<< "$well") >= nodes)); then return 0; fi
  ((next < ${#ready[@]})) || { echo "jobgen: no node in reserve is left" >&2; return 1; }
  lost=$(printf '%s\n' "${ready[@]:0:next}" | grep -vxF "$well") || true
  near=$(awk 'NR == FNR { lost[$1]; next } $2 in lost { print $3 }' <(echo "$lost") "$logs/nodes")
  near=$(awk 'NR == FNR { at[$1]; next } $3 in at { print $2 }' <(echo "$near") "$logs/nodes")
  mapfile -t ready < <(printf '%s\n' "${ready[@]:0:next}"
    printf '%s\n' "${ready[@]:next}" | grep -xF "$near" || true
    printf '%s\n' "${ready[@]:next}" | grep -vxF "$near" || true)
  echo "jobgen: ${ready[next]}: takes the place of a node that is lost" >&2
  start_others "${ready[next++]}"
}

run_all() {  # returns the status of the first ready node, or that of another one that has failed.
  local others=() end="" next=$nodes first  # A torchrun that stood by would restart the others.
  trap "" TERM  # it is for the ranks, which may write yet
  ((${#ready[@]} == 1)) || start_others "${ready[@]:1:nodes-1}"
  start_on run_node "${ready[0]}"
  first=$!
  until timeout $((5 + RANDOM % 5)) tail -f --pid="$first" /dev/null; do
    if [[ $end ]]; then others+=("$first"); disown "$first"; break; fi  # it had time to end
    [[ ${spares-} ]] || continue
    end=$(sed -En 's/^jobgen: .*: ended with status (..?|1[01].|12[0-7])$/\1/p' "$logs/stderr" |
      tail -n 1)
    fill_places || end=1
  done
  if [[ " ${others[*]} " != *" $first "* ]]; then end=0; wait "$first" || end=$?; fi
  ((${#others[@]} == 0)) || kill -KILL "${others[@]}" 2> /dev/null || true
  exit "$end"
}

run_ranks() {  # this shell hears signals meanwhile
  run_all &
  while kill -0 "$!" 2> /dev/null; do wait "$!" || true; done
  wait "$!"
}

status=0
run_ranks || status=$?
