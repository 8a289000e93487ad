# find_address: this node's IPv4 address on the job's interface; empty if it has none.
find_address() {
  address=$(ip -4 -o addr show up dev "$interface" 2> /dev/null | awk '{ split($4, a, "/"); print a[1]; exit }') || true
}
