observe() { :; }; last_words() { :; }; end_job() { :; }  # the lines of ranks stay as they are
