all_options=(${step_options+"${step_options[@]}"})  # of steps on all nodes
choose_nodes || { ${exclude_at_most:+exclude_nodes}; exit 1; }
