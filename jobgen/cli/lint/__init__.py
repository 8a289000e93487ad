"""The command `jobgen lint`: its words and options, and what it writes.

Not here: how a script is read, judged and mended (lint/).
"""
