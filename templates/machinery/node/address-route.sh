find_address() {  # this node's address and interface, on its way to another node of the job
  local other=${hosts[node == 0]-${hosts[0]}}  # the first or the second; of IPv4, if there is one
  read -r peer _ < <(getent ahostsv4 "$other" || getent ahosts "$other") || true
  read -r interface address < <(ip -o route get "${peer:-unknown}" |
    sed -n 's/.* dev \([^ ]*\) .*src \([^ ]*\).*/\1 \2/p') || true
}
