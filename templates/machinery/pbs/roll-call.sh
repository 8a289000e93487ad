# roll_call: all nodes are ready, or the job ends here: its last lines say which are not, and why. And how nodes differ.
roll_call() {
  local i name time answer differ ready=() problems=() written=()
  until (($({ nodes_with answer; nodes_with ended; } | sort -u | wc -l) == nodes || SECONDS > join_timeout)); do sleep 0.5; done
  # One process for all nodes: one for each would take a minute for 16,000.
  while read -r name time; do written[${name##*.}]=$time; done < <(cd "$folder" && stat -c "%n %Y" answer.* 2> /dev/null)
  for i in "${!hosts[@]}"; do
    { read -r answer < "$folder/answer.$i" && [[ $answer ]]; } 2> /dev/null ||
      answer="jobgen: ${hosts[i]}: no answer: its set-up failed, see above, or takes more than $join_timeout s"
    if [[ $answer != *" is ready"* ]]; then problems+=("$answer"); continue; fi
    printf -v "ready[i]" "%s, clock %+d s" "${answer%, clock*}" "$((${answer##* } - ${written[i]-${answer##* }}))"
  done
  ((${#ready[@]} == 0)) || printf '%s\n' "${ready[@]}"
  differ=$(printf '%s\n' "${ready[@]-}" | sed 's/, clock .[0-2] s$//; s/.*, node [0-9]*, //' | sort | uniq -c)
  if [[ $differ == *$'\n'* ]]; then echo "jobgen: the nodes differ: ${differ//$'\n'/; }"; fi
  if ((${#problems[@]})); then printf '%s\n' "${problems[@]}" >&2; exit 1; fi
}
