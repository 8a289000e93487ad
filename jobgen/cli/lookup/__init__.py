"""What commands look up for a person: a key, a part of the machinery, the jobs of a profile.

Not here: what to write instead of a wrong command line (mistakes/), and the checks that make a job
impossible (planner/).
"""
