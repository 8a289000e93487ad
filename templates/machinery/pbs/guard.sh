# guard: runs node_task, and kills all that is left of it: at its end, at the order stop, or if start_guard ($PPID) is gone.
guard() {
  local task tick status=0
  node=$1 host=${hosts[$1]}
  : > "$folder/begun.$node"
  set -m; trap : TERM  # a process group for the task; Slurm sends TERM to all processes
  (export JOBGEN_JOB=$job && node_task) < /dev/null &  # kill_leftovers must not find the guard itself
  task=$!
  exec 2> /dev/null  # bash would report a signal that ends the task
  while kill -0 "$task" && kill -0 "$PPID" && ! is_ordered stop; do sleep 0.5; done
  kill -- "-$task" || true
  for ((tick = 0; tick < 2 * stop_grace; tick++)); do ! kill -0 -- "-$task" || sleep 0.5; done
  kill -KILL -- "-$task" || true
  kill_leftovers
  wait "$task" || status=$?
  ((status == 0)) || { last_words > "$folder/words.$node" || true; is_ordered stop || sleep 3; }  # others report theirs
  write_file "ended.$node" "$status"
}
