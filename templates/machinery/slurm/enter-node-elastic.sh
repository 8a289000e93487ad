# on_node: what the shell of a node does: it calls one of the functions here. In the second step, numbers begin with 1.
on_node() { node=$((SLURM_NODEID + ${JOBGEN_OTHERS-0})) host=$SLURMD_NODENAME; unset JOBGEN_SCRIPT JOBGEN_OTHERS; "$1"; }
