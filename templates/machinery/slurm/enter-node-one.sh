# on_node: one function here, in the shell of a node. After a failure it pauses: srun may lose the last lines of a short task.
on_node() { host=$SLURMD_NODENAME; unset JOBGEN_SCRIPT; trap '(($?)) && sleep 1' EXIT; "$1"; }
