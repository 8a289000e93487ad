"""Scripts that are kept in a job repository: `jobgen check`, `jobgen build` and its manifest.

Here files are found, compared and written. Not here: how one script is made (generator).
"""
