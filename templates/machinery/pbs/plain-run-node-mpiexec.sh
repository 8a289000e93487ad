# run_node: the ranks of one node. It starts in $HOME; PWD is the script's.
run_node() { set -euo pipefail; cd "$PWD"; node=$(node_number); find_address; software; ranks; }
