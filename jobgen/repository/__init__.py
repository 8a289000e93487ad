"""Scripts that are kept in a job repository: `jobgen check`, `jobgen build` and its manifest.

The package finds, compares and writes files. Not here: how a script is made (generator).
"""
