# start_nodes starts a guard on each node. The guard starts node_task, which checks the node, writes its answer for
# the roll call, and after the order to start becomes the ranks. The guard ends node_task when this script orders it
# or is gone. They exchange files in a folder beside the job, which all nodes see.
folder=$PWD/.jobgen.$job

# write_file: writes a file there, which appears as a whole.
write_file() { echo "$2" > "$folder/.$1" && mv "$folder/.$1" "$folder/$1"; }

# nodes_with: the numbers of nodes with a file of that name. It lists the folder: NFS may be late about one file.
nodes_with() { (cd "$folder" && compgen -G "$1.*") | sed 's/.*[.]//' | sort; }

# is_ordered: whether this script has given the order $1, such as start. The * lists the folder, as above.
is_ordered() { (cd "$folder/orders" && compgen -G "$1*") > /dev/null; }
