"""The command `jobgen doctor`: its words and options, and what it writes.

Not here: what is measured (trainers/), and how its results are drawn (doctor/).
"""
