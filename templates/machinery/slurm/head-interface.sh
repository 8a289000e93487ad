find_address  # also `interface`, for the ranks of all nodes: a container may have no program ip
head=$address
