"""What a Python program calls: `jobgen.script`, `jobgen.plan` and `jobgen.advice`.

They read their arguments and the files that these name: no command line, and no variable of the
process. They print nothing, and keep nothing but templates that were compiled. Not here: whatever
submits or follows a job. docs/api.md is the page for users.
"""
