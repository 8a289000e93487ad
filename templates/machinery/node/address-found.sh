# find_address: IPv4 address and interface of the route to $head; if that is not set, to this host's name, or by default.
find_address() {
  local target nowhere=192.0.2.1  # an address that no host has (RFC 5737)
  target=${head-$(getent ahostsv4 "$(hostname)" | awk '$1 !~ /^127\./ { print $1; exit }')}
  address=$(ip -4 -o route get "${target:-$nowhere}" | sed -n 's/.* src \([^ ]*\).*/\1/p') || true
  interface=$(ip -4 -o addr show up to "${address:-$nowhere}" | awk '{ print $2; exit }') || true
}
