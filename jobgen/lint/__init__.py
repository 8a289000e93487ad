"""Finds what goes wrong with job scripts, whoever wrote them: `jobgen lint`.

Here are its settings, files and formats, its rules (rules/), and how a script is read (reader/).
Not here: the command line (cli/), and how jobgen makes its own scripts (scripts/).
"""
