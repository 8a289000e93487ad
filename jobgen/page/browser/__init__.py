"""Answers the page's form in the browser: makes a command line of the form, and runs jobgen on it.

The code uses no function of a browser, so tests run it without one. Not here: the look of the page,
and the start of Python in the browser (assets/).
"""
