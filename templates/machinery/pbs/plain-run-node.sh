# run_node: the ranks of one node. It starts in $HOME; PWD is the script's.
run_node() { set -euo pipefail; cd "$PWD"; node=$1; find_address; software; ranks; }
