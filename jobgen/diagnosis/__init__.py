"""Reads a job's output, anybody's, and finds what failed first: `jobgen why`.

Here is how a log is read, which lines are signs of a failure, and how the first one is found;
classes/ has a file for each class of failure. Not here: the command line (cli/), and the evidence
that a script leaves (templates/machinery/).
"""
