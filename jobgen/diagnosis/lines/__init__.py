"""From a line to an event: a line's label, time and sign, and reports that span many lines.

Not here: which lines are read (reader), and what the events mean together (judging/).
"""
