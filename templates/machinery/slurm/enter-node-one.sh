# on_node: what the shell of a node does: it calls one of the functions here. Ranks do not need JOBGEN_SCRIPT.
on_node() { host=$SLURMD_NODENAME; unset JOBGEN_SCRIPT; "$1"; }
