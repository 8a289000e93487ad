"""What a person types and reads: commands, their options, help, completion.

click reads the words and calls a command's function, which writes its results as text. Not here:
what a command does with a job (generator, repository/, submission/, lint/), and what only the
documentation needs, such as the man page (docs/hooks/).
"""
