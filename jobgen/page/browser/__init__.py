"""Answers the page's form, inside the browser: a form becomes a command line, which jobgen runs.

It needs nothing of a browser, so that the tests run it as it is. Not here: how the page looks, and
how Python gets into it (assets/).
"""
