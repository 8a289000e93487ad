"""The commands that plan a job, without click: their words, and what they do.

Not here: their help and the errors of their words, which click writes (cli/job_commands).
"""
