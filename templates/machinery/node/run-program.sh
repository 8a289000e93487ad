# run_node: the program of this node. Its signals are its own: none is ignored.
run_node() { observe; find_address; software; ranks; }
