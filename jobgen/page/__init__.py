"""Writes the folder of a web page with a form: jobgen itself runs in the browser, and answers it.

Here are the writer of the folder, the page's own files (assets/), and the Python code that answers
the form in the browser (browser/). Not here: how a script is made (generator), the command (cli/).
"""
