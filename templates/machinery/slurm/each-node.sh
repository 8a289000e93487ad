((SLURM_JOB_NUM_NODES == nodes)) || fail "made for $nodes nodes, not $SLURM_JOB_NUM_NODES: say -N to jobgen, not to sbatch"
if [[ ${SLURM_CPUS_PER_TASK-} ]]; then export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK; fi  # srun needs it since 22.05
values=(nodes min_nodes arch interface port join_timeout max_restarts program gpus workspace job head logs stall)
export JOBGEN_SCRIPT  # for the shells of the nodes: all functions, and those of these values that are set here
JOBGEN_SCRIPT=$(echo "set -euo pipefail"; declare -p "${values[@]}" 2> /dev/null; declare -f)
node_shell=(bash -c "eval \"\$JOBGEN_SCRIPT\"; on_node \"\$1\"" bash)  # a function's name follows
node_step=(srun ${step_options+"${step_options[@]}"} --nodes="$nodes" --ntasks="$nodes" --ntasks-per-node=1 --export=ALL)
on_each_node=("${node_step[@]}" "${node_shell[@]}")
