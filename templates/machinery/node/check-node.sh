check_node() {  # prints the answer of this node in the roll call: it is ready, or what is wrong
  [[ $(uname -m) == "${arch:=$(uname -m)}" ]] || fail "it is not $arch: --set node.arch=$(uname -m)"
  find_address
  [[ $address && ($nodes == 1 || $address != @(127.*|::1|fe80:*)) ]] ||
    fail "no address on ${interface:-any interface}: --set network.interface=NAME, one of $(
      ip -br addr show up scope global | awk '{ sub("@.*", "", $1); print $1, $3 }' | paste -sd ,)"
  ((node > ${spares:-0})) || [[ ! $(ss -Hltn "sport = :$port") ]] ||
    fail "port $port is used: --set network.port=N"  # of each node that may be the first one
  [[ ! ${program-} || -r $program ]] || fail "no program $program in $PWD: submit from its folder"
  software 2> "$logs/set-up.$host"  # kept until it is over: it may have the reason of a failure
  cat "$logs/set-up.$host" >&2; rm "$logs/set-up.$host"
  check_torch
  allowed=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc) cure=request.cpus_per_node=N
  ((${SLURM_CPUS_ON_NODE:-0} < ${cores:-0})) || cure=launch.cpu_bind=none  # this step has them
  ((4 * allowed > ${cores:-0} || allowed == $(nproc --all))) ||
    fail "$allowed of $cores cores for its ranks (bound: ${SLURM_CPU_BIND-no}): --set $cure"
  echo "jobgen: $host is ready, $address on $interface: $torch${plugin:+, $plugin}," \
    "$allowed cores${cores:+, $cores expected}, memlock $(ulimit -l), open files $(ulimit -n)"
}
