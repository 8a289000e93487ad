"""A profile from a live cluster: `jobgen detect`.

Kept here: how a scheduler's answers are read, which nodes the profile is for, the job that asks one
compute node, and the lines of the profile. Not here: what a profile is (profiles/), and the jobs of
a user (submission/).
"""
