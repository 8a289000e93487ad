# on_node: one function here, in the shell of a node. After a failure it pauses: srun may lose the last lines of a short task.
# In the second step, numbers begin with 1.
on_node() {
  node=$((SLURM_NODEID + ${JOBGEN_OTHERS-0})) host=$SLURMD_NODENAME; unset JOBGEN_SCRIPT JOBGEN_OTHERS
  trap '(($?)) && sleep 1' EXIT
  "$1"
}
