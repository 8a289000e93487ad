"""The command `jobgen why`: its words and options, and what it writes.

Not here: how a log is read and judged (diagnosis/).
"""
