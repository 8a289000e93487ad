"""The words of other tools, and the search for a name that nobody has: read only after a mistake.

`words.yaml` has the words; `search.py` finds the keys that a name may mean. What to type for such a
key is said elsewhere: in a file by profiles/, on a command line by planning/.
"""
