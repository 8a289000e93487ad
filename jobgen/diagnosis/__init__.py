"""Reads a job's output, anybody's, and finds what failed first: `jobgen why`.

Here is how a log is read, which lines are signs of a failure, and how the first one is found;
classes/ has a text for each class of failure. A pattern that few logs need is a text: re compiles
it when it is used, and not at the start, where a pattern takes a tenth of a millisecond. Not here:
the command line (cli/), and the evidence that a script leaves (templates/machinery/).
"""
