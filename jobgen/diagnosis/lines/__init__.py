"""From a line to an event: its label and time, the sign that it matches, what spans many lines.

Not here: which lines are read (reader), and what the events mean together (judging/).
"""
