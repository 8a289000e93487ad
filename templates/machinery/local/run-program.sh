# run_node: the program of a node.
run_node() { observe; software; ranks; }
