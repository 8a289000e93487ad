"""A profile from a live cluster: `jobgen detect`.

This package reads the answers of a scheduler, chooses the nodes that the profile is for, runs the
job that examines one compute node, and writes the lines of the profile. Not here: what a profile is
(profiles/), and how the job of a user is submitted (submission/).
"""
