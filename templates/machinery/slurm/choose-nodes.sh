# choose_nodes: the ranks run on the first nodes that are ready, those of before first; the others are in reserve.
choose_nodes() {
  local all ready chosen reserve step=(srun ${all_options+"${all_options[@]}"} --ntasks-per-node=1 --export=ALL)
  all=$(squeue --noheader --jobs="$id" --format=%D) || { sleep 30; all=$(squeue --noheader --jobs="$id" --format=%D); } ||
    fail "squeue does not say how many nodes the job has"  # Slurm takes lost ones away
  on_each_node=("${step[@]}" --nodes="$all" --ntasks="$all" "${node_shell[@]}")
  SLURM_KILL_BAD_EXIT=0 roll_call || true
  ready=$(sed -nE 's/^jobgen: (\S+) is ready, ([0-9.]+) on .*, node ([0-9]+), .*/\3 \1 \2/p' <<< "$lines" |
    awk -v used=",${used-}," '{ print !index(used, "," $2 ","), $0 }' | sort -n -k 1,1 -k 2,2)
  (($(grep -c . <<< "$ready") >= needed)) ||
    { echo "jobgen: $(grep -c . <<< "$ready") nodes are ready, the ranks need $needed" >&2; return 1; }
  reserve=$(tail -n +$((needed + 1)) <<< "$ready" | cut -d " " -f 3 | paste -sd ,)
  chosen=$(head -n "$needed" <<< "$ready" | sort -n -k 2,2)  # in Slurm's order
  used=$(cut -d " " -f 3 <<< "$chosen" | paste -sd ,) nodes=$needed head=${chosen%%$'\n'*} head=${head##* }
  JOBGEN_SCRIPT+=$'\n'"nodes=$nodes head=$head"
  step_options=(${all_options+"${all_options[@]}"} --nodelist="$used")
  node_step=("${step[@]}" --nodes="$nodes" --ntasks="$nodes" --nodelist="$used")
  on_each_node=("${node_step[@]}" "${node_shell[@]}")
  echo "jobgen: the ranks run on $used; in reserve: ${reserve:-no node}" >&2
}
