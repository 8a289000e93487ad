if [[ ${SLURM_CPUS_PER_TASK-} ]]; then export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK; fi  # srun needs it since 22.05
srun ${rank_options+"${rank_options[@]}"} --ntasks-per-node=1 -K bash -euo pipefail -c "find_address; software; ranks"
