"""Makes a Plan of a Profile and a Job: decides sizes and defaults, and refuses impossible jobs.

Planning is pure: it reads no clock, no host name, no environment and no file. Not here: what a
directive or a command line looks like (schedulers/), and the text of a script (scripts/).
"""
