# stop_ranks: the ranks get TERM and some seconds to save, and nothing of them is left.
stop_ranks() {
  local tick
  trap "" TERM
  kill -- "-$torchrun" 2> /dev/null || true
  for ((tick = 0; tick < 2 * stop_grace; tick++)); do ! kill -0 -- "-$torchrun" 2> /dev/null || sleep 0.5; done
  kill_leftovers
}

software
check_torch
echo "jobgen: $HOSTNAME is ready, node 0, $torch, memlock $(ulimit -l), open files $(ulimit -n)"
export JOBGEN_JOB=${job=$PBS_JOBID}
trap "" USR1 USR2  # they would end torchrun
status=0
set -m  # a process group for the ranks
(observe; ranks) &
torchrun=$!
trap 'stop_ranks; exit 143' TERM  # qdel, walltime
wait "$torchrun" || status=$?
stop_ranks
((status == 0)) || exit "$status"
