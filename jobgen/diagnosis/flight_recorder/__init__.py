"""Reads the dumps of torch's flight recorder, which show who a collective operation waits for.

dump.py reads one rank's file, missing_ranks.py finds what each process group waits in, and for
whom. Not here: what a log says about a collective (classes/).
"""
