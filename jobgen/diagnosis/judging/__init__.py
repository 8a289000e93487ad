"""From events to a verdict: which events belong to the failure, which explain others, and where.

Not here: how a line becomes an event (lines/), and how a verdict is shown (report).
"""
