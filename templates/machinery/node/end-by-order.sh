end_all() {  # mpiexec of MPICH ends no other node when one fails; the keepers do at this order
  local status=0 end=$logs/orders/end keeper
  "$@" &
  keeper=$!
  while kill -0 "$keeper"; do
    kill -0 "$PPID" || kill "$keeper" || true  # mpiexec's daemon is gone
    sleep 1
  done 2> /dev/null
  wait "$keeper" || status=$?
  ((status == 0)) || [[ -e $end ]] || echo "$status" > "$end"
  [[ ! -s $end ]] || status=$(< "$end")  # mpiexec joins all statuses, bit by bit
  exit "$status"
}
