# prepare: what is done once on a node, in a step of its own: srun starts one for each node.
prepare() { find_address; software; prepare_node; }
