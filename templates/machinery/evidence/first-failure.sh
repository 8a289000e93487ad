# first_failure: a rank that a signal killed, else an exception that no other rank's end explains, else another exit status.
first_failure() {
  local ends found who text note killed task=${ranks_per_node+rank \\2}
  ends=$(sed -nE "/: +rank +: / { N; s/^([^ ]+): +rank +: ([0-9]+) .* exitcode +: (\S+).*/rank \2 on \1: ended with status \3/ }
    s/^([^ ]+): .* failed \(exitcode: ([0-9-]+)\) local_rank: ([0-9]+) .*/local rank \3 on \1: ended with status \2/
    s/^(\S+): .*DistNetworkError: The client .*\((\S+), ([0-9]+)\).*/launcher on \1: no answer from node 0 at \2:\3: a firewall?/
    s/^srun: error: ([^ ]+): tasks? ([0-9]+)[^:]*: /${task:-launcher} on \1: /
    s/^srun: .*Node failure on (\S+)/node \1: it no longer answers/; s/^jobgen: (\S+): (rank \S+) (ended with )/\2 on \1: \3/
    s/ended with status -/killed by signal /; /^(rank [0-9]+ on|local rank [0-9]+ on|launcher on|node) /p" "$logs"/stderr*)
  found=$(grep -E "^node|^rank .* signal ([4789]|11)$" <<< "$ends"
    sed -nE 's/^([^ ]+) (rank [0-9]+): (\[rank[0-9]+\]: )?([A-Za-z_.]+(Error|Exception|Interrupt)(:.*)?)$/\2 on \1: \4/p' \
      "$logs"/stderr* | grep -vE 'peer|[Cc]onnection|Broken pipe|[Tt]imed out|NCCL|Rendezvous|Dist[A-Z]'  # consequences
    grep -vE "signal 15$|(status|code) 1$|Terminated${reason+|^launcher.*Aborted}" <<< "$ends" | sort -s -r -k 1,1 |
      sed -E 's/: Killed$/: killed by signal 9/; s/Exited with exit code/ended with status/')
  who=${found%%: *} text=${found%%$'\n'*} text=${text#*: } killed=$(grep -E "signal 9|Killed" <<< "$text" || true)
  note=$(grep -hF "jobgen: ${who##* }: last words: " "$logs"/stderr* |
    grep -oE "[^ ,]+ 100%|uncorrectable[^,]*|Xid [0-9]+|out of memory.*${killed:+|memory ran out.*}" | paste -sd ,) || true
  (($(grep ^rank <<< "$found" | sort -u | grep -cF ": $text") < 2)) || who+=", and others alike,"
  echo "${who:+$who failed first: }$text${note:+; on that node: $note}"
}
