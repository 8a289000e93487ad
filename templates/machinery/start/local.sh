check_node() { software; check_torch; echo "jobgen: this machine is ready: $torch"; }
stop_nodes() {  # ends all nodes; torchrun gives its ranks 30 s
  local pid limit=$((SECONDS + 35))
  trap "" INT TERM
  for pid in "${pids[@]}"; do kill -- "-$pid" 2> /dev/null || true; done
  for pid in "${pids[@]}"; do
    while kill -0 -- "-$pid" 2> /dev/null; do
      ((SECONDS < limit)) || kill -KILL -- "-$pid" 2> /dev/null || true
      sleep 0.1
    done
  done
}

[[ ! ${port-} || ! $(ss -Hltn "sport = :$port") ]] ||
  fail "port $port is used: --set network.port=N"
[[ ! ${program-} || -r $program ]] || fail "no program $program in $PWD: go to its folder"
ready=$(set -e; check_node)  # else a set-up that fails would go on
echo "$ready"
for ((node = 0; node < nodes; node++)); do mkdir -p "$logs/node$node"; done
trap 'end_job "$?"; exit "$status"' EXIT
echo "$ready" 2> /dev/null > "$logs/roll-call" || true
record 2> /dev/null || true
# A job that ends at once removes the folder before tee has opened its file.
exec 2> >(trap "" INT TERM; tee -a "$logs/stderr" >&2 2> /dev/null || cat > /dev/null)
pids=() status=0
trap 'outside="was ended from outside"; stop_nodes; exit 143' TERM
trap 'outside="was ended from outside"; stop_nodes; exit 130' INT
set -m  # a process group for each node
for ((node = 0; node < nodes; node++)); do
  (host=node$node run_node "$head") < /dev/null &
  pids+=("$!")
done
