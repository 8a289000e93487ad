# stop_nodes: orders all nodes to stop, and waits until they have; `running` are the numbers of those that have not.
stop_nodes() {
  local tick
  : > "$folder/orders/stop"
  for ((tick = 0; tick < 2 * stop_grace + 20; tick++)); do  # half seconds: the grace, and 10 s more
    running=$(comm -23 <(nodes_with begun) <(nodes_with ended))
    if [[ ! $running ]]; then return 0; fi
    sleep 0.5
  done
  return 1
}
