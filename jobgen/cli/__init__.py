"""What a person types and reads: commands, their options, help, completion, the manual, progress.

Here words become a call, and results become text. Not here: what a command does with a job
(generator, repository/, submission/, lint/).
"""
