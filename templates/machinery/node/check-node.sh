# check_node: prints one line: this node is ready, or what is wrong there.
check_node() {
  exec 3>&1 1>&2; report=3  # that line alone goes to the roll call, all others to the log
  [[ ! $arch || $arch == "$(uname -m)" ]] || fail "it is $(uname -m), not $arch: --set node.arch=$(uname -m)"
  find_address
  [[ $address && ($address != 127.* || $nodes == 1) ]] ||
    fail "no address for other nodes on interface ${interface:-(none)}; there is" \
      "$(ip -4 -o addr show up | awk '{ print $2, $4 }' | paste -sd,): --set network.interface=NAME"
  ((node > 0)) || [[ ! $(ss -Hltn "sport = :$port") ]] ||
    fail "port $port is in use: submit again, or --set network.port=N"
  [[ ! $program || -r $program ]] ||
    fail "there is no program $program in $PWD: submit from its folder, or give its full path"
  software
  check_torch
  echo "jobgen: $host is ready, $address on $interface, node $node, $torch,$(sed 's/.*/ driver &,/' \
    /sys/module/{nvidia,amdgpu}/version 2> /dev/null || true) memlock $(ulimit -l), open files $(ulimit -n)," \
    "/dev/shm $(df -Ph /dev/shm | awk 'END { print $2 }'), clock $(date +%s)" >&3
}
