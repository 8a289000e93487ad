# on_node: what a node does: one of the functions here. It starts in $HOME; PWD is the script's. The shopt: set -e in $(…), too.
on_node() { set -euo pipefail; shopt -s inherit_errexit; cd "$PWD"; "$@"; }
