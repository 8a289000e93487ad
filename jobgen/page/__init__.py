"""Makes the folder of a web page on which people fill in a form, and jobgen itself runs in it.

Here are the writer of that folder, the page's own files (assets/), and the Python that answers the
form in the browser (browser/). Not here: what a script is (generator), and the command (cli/).
"""
