# end_ranks: TERM for the ranks that mpiexec has started on this node, until they have ended.
end_ranks() {
  unset JOBGEN_JOB  # the commands here are none of them
  grep -lszxF "JOBGEN_JOB=$job" /proc/[0-9]*/environ | tr -dc '0-9\n' | xargs -r kill 2> /dev/null || true
  while grep -qszxF "JOBGEN_JOB=$job" /proc/[0-9]*/environ; do sleep 0.5; done
}
