"""A release of the registry of profiles, which a user takes into the folder of settings.

Here are how a release is read and checked, how it differs from the profiles in use, and how it
replaces them. Not here: fetching one, which jobgen never does, and making one
(packaging/registry).
"""
