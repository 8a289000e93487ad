"""Finds mistakes in a command line, and says what to write instead; imported only when needed.

Not here: jobs that are impossible (planner/), and the words of other tools (other_words/).
"""
