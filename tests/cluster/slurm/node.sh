#!/bin/bash
# node.sh FOLDER start NODE | crash NODE | run NODE COMMAND…, from the login machine.
# A node is a set of namespaces; `crash` kills its PID 1, and so all of it at once.
set -euo pipefail
. "$(dirname "$0")/settings.sh"
action=$2 name=$3
shift 3
outer=$RUN/node/$name.pid # the pid of `unshare`, whose only child is the node's PID 1
case $action in
  start)
    mkdir -p "$RUN/spool/$name" "$RUN/own/$name.cgroup"
    setsid nsenter --net="$RUN/net/$name" \
      unshare --uts --mount --pid --ipc --fork --kill-child --mount-proc \
      "$HERE/init.sh" "$RUN" "$name" < /dev/null > "$RUN/log/node-$name.out" 2>&1 &
    echo $! > "$outer"
    ;;
  crash) kill -9 "$(cat "$outer")" ;;
  run)
    first=$(cat "/proc/$(cat "$outer")/task/$(cat "$outer")/children")
    exec nsenter -t "${first%% *}" --pid --mount --uts --ipc --net --wd="$PWD" "$@"
    ;;
  *) exit 2 ;;
esac
