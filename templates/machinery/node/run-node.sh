# run_node: the ranks of this node, as soon as node 0's torchrun answers.
run_node() {
  observe
  trap "" USR1 USR2  # they would end torchrun
  find_address; software; SECONDS=0  # join_timeout counts from here
  until ((node == 0)) || (: > "/dev/tcp/$head/$port") 2> /dev/null; do
    ((SECONDS < join_timeout)) || fail "no answer from node 0 at $head:$port to $address on $interface:" \
      "see its own error above; if it has none, look for a firewall between the two"
    sleep 0.2
  done
  ranks
}
