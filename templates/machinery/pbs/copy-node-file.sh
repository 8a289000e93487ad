cp "$PBS_NODEFILE" "$folder/nodefile"  # PBS may keep it on this node alone, and other nodes start nodes, too
