"""What to write in a manifest instead of a mistake.

Not here: keys of profiles, and the answers that both share (profiles/mistakes/).
"""
