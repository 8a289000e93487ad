"""Reads the dumps of torch's flight recorder, which show who a collective operation waits for.

dump.py reads one rank's file, groups.py what each process group waits in, blame.py whom all wait
for. Not here: what a log says about a collective (classes/).
"""
