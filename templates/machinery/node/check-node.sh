check_node() {  # prints the answer of this node in the roll call: it is ready, or what is wrong
  [[ $(uname -m) == "${arch:=$(uname -m)}" ]] || fail "it is not $arch: --set node.arch=$(uname -m)"
  find_address
  [[ $address && ($nodes == 1 || $address != 127.*) ]] ||
    fail "no address on ${interface:-any interface}: --set network.interface=NAME, one of $(
      ip -4 -br addr show up | awk '{ sub("@.*", "", $1); print $1, $3 }' | paste -sd ,)"
  ((node > ${spares:-0})) || [[ ! $(ss -Hltn "sport = :$port") ]] ||
    fail "port $port is used: --set network.port=N"  # of each node that may be the first one
  [[ ! ${program-} || -r $program ]] || fail "no program $program in $PWD: submit from its folder"
  software
  check_torch
  echo "jobgen: $host is ready, $address on $interface: $torch," \
    "$(env -u OMP_NUM_THREADS nproc) cores, memlock $(ulimit -l), open files $(ulimit -n)"
}
