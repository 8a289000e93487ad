"""What is looked up for a person: the list of profiles, the page of a key, the program's file.

Not here: the checks that make a job impossible (planner/).
"""
