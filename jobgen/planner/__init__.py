"""Profile and Job to Plan: all arithmetic, all defaults, and all refusals.

Planning is pure: it reads no clock, no host name, no environment and no file. Not here: what a
directive or a command line looks like (schedulers/), and the text of a script (scripts/).
"""
