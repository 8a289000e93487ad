# run_node: the program of this node, at once: on node 0, no torchrun is there to wait for.
run_node() { observe; find_address; software; ranks; }
