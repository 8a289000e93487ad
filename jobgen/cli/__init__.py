"""The command line: commands, their options, help, and completion.

click parses the words and calls a command's function, which writes its results as text. Not here:
the work of a command on a job (generator, repository/, submission/, lint/), and pages of the
documentation, such as the man page (docs/hooks/).
"""
