"""Times and sizes as people write them, and the kinds of a profile's values that are one.

Not here: what a number without a unit means, which each scheduler knows (schedulers/).
"""
