if [[ ${SLURM_CPUS_PER_TASK-} ]]; then export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK; fi  # srun needs it since 22.05
software
rank_step=(${rank_options+"${rank_options[@]}"} --ntasks-per-node="$ranks_per_node" --kill-on-bad-exit=1)
container bash -euo pipefail -c ranks
