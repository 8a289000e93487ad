# on_node: what the shell of a node does: it calls one of the functions here. Ranks do not need JOBGEN_SCRIPT.
on_node() { node=$SLURM_NODEID host=$SLURMD_NODENAME; unset JOBGEN_SCRIPT; "$1"; }
