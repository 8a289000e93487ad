# start_guard: starts the guard in a session that PBS does not kill. If the guard itself is killed, this cleans up.
start_guard() { if ! setsid --wait bash "$folder/node.sh" guard "$1"; then kill_leftovers; exit 137; fi; }
