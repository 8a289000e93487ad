# run_node: one rank; mpiexec starts one for each. It may start in $HOME; PWD is the script's.
run_node() { set -euo pipefail; cd "$PWD"; find_address; software; ranks; }
