"""Reads a job's output, whoever made its script, and finds what failed first: `jobgen why`.

Here is how a log is read, which lines are signs of a failure, and how the first failure is found;
classes/ has a text for each class of failure. A pattern that few logs need is kept as a text: re
compiles it when it is first used, because each pattern would delay the start by a tenth of a
millisecond. Not here: the command line (cli/), and a script's evidence (templates/machinery/).
"""
