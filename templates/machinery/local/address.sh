# find_address: each node here has a loopback address of its own.
find_address() { address=127.0.0.$((node + 1)); }
