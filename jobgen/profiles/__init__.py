"""The description of a cluster: the model of profiles, and how they are found, read and merged.

Here is everything from a YAML file to a checked Profile with the origin of every value. Not here:
what a job asks for (planning/), and the profiles themselves (the folder profiles/ of the project).
"""
