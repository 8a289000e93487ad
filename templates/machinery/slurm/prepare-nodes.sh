"${on_each_node[@]}" prepare
