"""Reads the dumps of torch's flight recorder, which show the ranks that an operation waits for.

dump.py reads one rank's file. missing_ranks.py finds the operation in which each process group
waits, and for which ranks. Not here: what a log says about a collective (classes/).
"""
