# The roll call: all nodes are ready, or the job ends here and says which are not.
timeout -k 9 "$join_timeout" "${each_node[@]}" check_node | sort -u > "$logs/roll-call" || true
mapfile -t bad < <(printf '%s\n' "${hosts[@]}" |  # nodes that printed nothing
  grep -vxFf <(sed -n 's/.*jobgen: \([^: ]*\).*/\1/p' "$logs/roll-call"))
for each in "${bad[@]}"; do show_set_up "$each"; done >> "$logs/roll-call"
grep " is ready, " "$logs/roll-call" || true
grep -v " is ready, " "$logs/roll-call" >&2 || true
(($(grep -c " is ready, " "$logs/roll-call") >= nodes)) || exit 1
sed -n 's/.* is ready, [^ ]* on [^ ]* //p' "$logs/roll-call" | sort | uniq -c |  # each kind of node
  sed '1 { $ d }; s/^/jobgen: the nodes differ:/'  # nothing if there is one kind
