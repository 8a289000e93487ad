# The roll call: all nodes are ready, or the job ends here and says which are not.
((${#hosts[@]} == nodes + ${spares:-0})) || fail "${#hosts[@]} nodes, not $nodes: -N of jobgen"
find_address || true  # of the first node: the ranks meet there
answers=$logs/roll-call
timeout -k 9 "$join_timeout" "${each_node[@]}" check_node | sort -u > "$answers" || true
mapfile -t bad < <(comm -23 <(printf '%s\n' "${hosts[@]}" | sort) \
  <(sed -n 's/.*jobgen: \([^: ]*\).*/\1/p' "$answers" | sort))
[[ ! ${bad[*]} ]] || printf 'jobgen: %s: no answer, see above\n' "${bad[@]}" >> "$answers"
grep " is ready, " "$answers" || true
grep -v " is ready, " "$answers" >&2 || true
(($(grep -c " is ready, " "$answers") >= nodes)) || exit 1
sed -n 's/.* is ready, [^:]*: //p' "$answers" | sort | uniq -c |
  sed '1 { $ d }; s/^/jobgen: the nodes differ:/'
