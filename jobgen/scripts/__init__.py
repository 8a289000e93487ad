"""Plan to script text: templates, their filters, the header, and writing files.

A value that a template prints becomes one quoted word. Not here: what the values are (planner/),
and the templates themselves (the folder templates/ of the project).
"""
