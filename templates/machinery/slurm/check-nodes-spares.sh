needed=$nodes nodes=$((nodes + spares))  # until the ranks start, all nodes count
