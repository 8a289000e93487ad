"""The words of other tools, and the search for an unknown name: read only after a mistake.

`words.yaml` has the words; `search.py` finds the keys that a name may mean. Not here: what to write
for such a key, in a file (profiles/) or on a command line (planning/).
"""
