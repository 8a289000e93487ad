# start_node: starts one node, and returns when it has ended. There, standard input ends if ssh is gone, or this script.
start_node() {
  ssh -o BatchMode=yes "${hosts[$1]}" "$(printf '%q ' "${node_command[@]}" "$1")" < <(exec tail -f --pid=$$ /dev/null)
}
