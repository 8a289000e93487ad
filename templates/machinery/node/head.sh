head=$(find_address; echo "$address")
