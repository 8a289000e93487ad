((${#hosts[@]} == nodes)) || fail "made for $nodes nodes, not ${#hosts[@]}: say -N to jobgen, not select to qsub"
rm -rf "$folder"; mkdir -m 700 "$folder"  # PBS may run a job again
trap finish EXIT
trap 'reason="the job was ended from outside"; exit 143' TERM  # qdel, walltime: PBS tells the first node alone
