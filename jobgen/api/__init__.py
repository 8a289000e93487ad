"""The functions for Python programs: `jobgen.script`, `jobgen.plan` and `jobgen.advice`.

The functions read their arguments and the files that the arguments name, but no command line and no
environment variable of the process. They print nothing, and keep only compiled templates. Not here:
code that submits or follows a job. docs/api.md is the page for users.
"""
