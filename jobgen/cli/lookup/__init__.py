"""What commands look up for a person: a key, a part of the machinery, what to write instead.

Not here: the checks that make a job impossible (planner/).
"""
