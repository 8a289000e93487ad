find_address() {  # this node's address and interface, on its way to another node of the job
  local peer
  peer=$(getent ahostsv4 "${hosts[node == 0]}" | awk '{ print $1; exit }')
  read -r _ interface _ address _ < <(ip -4 -o route get "$peer" | grep -o "dev .*") || true
}
