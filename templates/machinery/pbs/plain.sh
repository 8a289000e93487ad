values=(PATH PWD LD_LIBRARY_PATH interface port nodes job hosts head workspace program)
node_command=(bash -l -c "$(declare -p "${values[@]}" 2> /dev/null; declare -f); run_node \"\$@\"" bash)
