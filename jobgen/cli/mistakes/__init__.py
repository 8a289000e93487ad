"""What to write instead of a wrong command line: imported only after a mistake, or to look for one.

Not here: a job that cannot be (planner/), and the words of other tools (other_words/).
"""
