find_address() {  # this node's address and interface, on its way to another node of the job
  read -r peer _ < <(getent ahostsv4 "${hosts[node == 0]}") || true  # the first or the second
  read -r interface address < <(ip -4 -o route get "${peer:-unknown}" |
    sed -n 's/.* dev \([^ ]*\) .*src \([^ ]*\).*/\1 \2/p') || true
}
