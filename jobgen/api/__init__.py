"""What a Python program calls: `jobgen.script`, `jobgen.plan`, `jobgen.advice` and `jobgen.submit`.

The functions read their arguments and the files that the arguments name, but no command line and no
environment variable of the process. They print nothing, and keep only compiled templates and the
last answer of a scheduler. Not here: how a script is submitted, and how a job has ended
(submission/), which the command line needs, too. docs/api.md is the page for users.
"""
