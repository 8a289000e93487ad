"""The command `jobgen page`: its options, and what it writes to the person.

Not here: the page itself (page/).
"""
