find_address() {  # this node's IPv4 address on the job's interface; empty if it has none
  address=$(ip -4 -br addr show dev "$interface" | awk '{ sub("/.*", "", $3); print $3 }') || true
}
