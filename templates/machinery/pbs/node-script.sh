# write_node_script: writes what a node needs of this script: environment, values and functions. PBS gives it none.
write_node_script() {
  local own='PBS_(NODEFILE|NODENUM|TASKNUM|MOMPORT|JOBCOOKIE)|HOSTNAME|SHLVL|TMOUT|TMPDIR|_' exported values
  mapfile -t exported < <(compgen -e | grep -vxE "$own")  # not those of one node or of one shell
  values=(nodes arch interface port join_timeout max_restarts stop_grace program gpus workspace
    job hosts head folder logs stall)
  declare -p "${exported[@]}" "${values[@]}" > "$folder/node.sh" 2> /dev/null || true  # those that are set
  { declare -f; echo "on_node \"\$@\""; } >> "$folder/node.sh"
}
