# start_all: starts all nodes, and their ranks when all are ready.
start_all() {
  mkdir "$folder/orders"
  write_node_script
  node_command=(bash "$folder/node.sh" start_guard)
  start_nodes
  roll_call
  : > "$folder/orders/start"
}
