observe() { :; }  # the lines of ranks stay as they are
