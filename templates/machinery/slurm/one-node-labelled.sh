((SLURM_JOB_NUM_NODES == nodes)) || fail "made for 1 node, not $SLURM_JOB_NUM_NODES: say -N to jobgen, not to sbatch"
if [[ ${SLURM_CPUS_PER_TASK-} ]]; then export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK; fi  # srun needs it since 22.05
software
check_torch
echo "jobgen: $host is ready, node 0, $torch, memlock $(ulimit -l), open files $(ulimit -n)"
values=(max_restarts program workspace host logs stall)
trap 'reason="the job was ended from outside"; sleep 10 & wait -n; exit 143' TERM  # scancel, walltime: the ranks end first
{ trap : TERM; run_labelled srun --nodes=1 --ntasks=1 --export=ALL \
  bash -c "set -euo pipefail; $(declare -p "${values[@]}" 2> /dev/null; declare -f); trap '' USR1 USR2; observe; ranks"; } &
wait "$!"  # this shell hears a signal meanwhile
