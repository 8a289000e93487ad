# warn_node: warns the ranks of this node, until the batch script closes standard input.
warn_node() { warn_ranks & cat; kill "$!"; }
