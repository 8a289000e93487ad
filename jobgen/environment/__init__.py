"""The environment of a lock, in the store: its name, and how it is made there.

Not here: how a job uses it, which is the same as for each virtual environment.
"""
