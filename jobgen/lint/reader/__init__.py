"""Reads the text of a job script into records: directives, commands, variables, comments.

Every record has its line and column, also in strings and heredocs that are scripts themselves. Not
here: what is wrong with a script (rules/), and where its text comes from (files, documents).
"""
