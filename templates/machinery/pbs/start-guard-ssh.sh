# start_guard: starts the guard in a session of its own. If ssh is gone, this ends, too, which the guard notices.
start_guard() {
  setsid bash "$folder/node.sh" guard "$1" < /dev/null &
  while kill -0 "$!" 2> /dev/null; do read -r -t 1 || (($? > 128)) || exit 1; done  # 1: the end of standard input
  wait "$!" || { kill_leftovers; exit 137; }
}
