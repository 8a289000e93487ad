((${#hosts[@]} == nodes)) || fail "made for $nodes nodes, not ${#hosts[@]}: say -N to jobgen, not to sbatch"
rm -rf "$folder"; mkdir -m 700 "$folder"  # Slurm may run a job again
trap finish EXIT
trap 'reason="the job was ended from outside"; exit 143' TERM  # scancel, walltime: Slurm tells only what it has started
