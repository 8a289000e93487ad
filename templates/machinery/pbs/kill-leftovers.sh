# kill_leftovers: kills processes with JOBGEN_JOB in their environment. Ranks may be in sessions of their own.
kill_leftovers() {
  for _ in 1 2 3; do  # a process may start another one meanwhile
    grep -lszxF "JOBGEN_JOB=$job" /proc/[0-9]*/environ | tr -dc '0-9\n' | xargs -r kill -KILL 2> /dev/null || true
    sleep 0.2
  done
}
