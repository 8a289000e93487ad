"""Makes a script's text from a Plan: templates, their filters, the header, and writing files.

A value that a template prints becomes one quoted word. Not here: how values are decided (planner/),
and the templates themselves (the folder templates/ of the project).
"""
