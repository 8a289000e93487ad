find_address() {  # this node's address on the job's interface: of IPv4 if it has one; or empty
  address=$(ip -br addr show dev "$interface" | awk '{ sub("/.*", "", $3); print $3 }') || true
}
