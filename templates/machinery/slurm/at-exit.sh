ending=""  # the exit status, when the verdict is made
trap 'ending=$?; end_job "$ending" timeout 15 "${on_each_node[@]}" last_words; rm -rf "$PWD/.jobgen.$SLURM_JOB_ID"' EXIT
# scancel, the walltime, a preemption, a lost node: ranks have 10 s to end; Slurm kills this script 30 s after TERM.
trap 'reason="the job was ended from outside"
  [[ $ending ]] || { [[ ! $(jobs -p) ]] || { sleep 10 & wait -n; }; exit 143; }' TERM
