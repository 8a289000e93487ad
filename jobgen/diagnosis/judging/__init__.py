"""From events to a verdict: what belongs to the failure, what explains what, which node and rank.

Not here: how a line becomes an event (lines/), and how a verdict is shown (report).
"""
