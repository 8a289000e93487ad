"""Draws a verdict as nodes × time: the first failure, what followed, and how the job ended.

stamps.py reads the times around the lines of the verdict; moments.py makes rows and columns;
drawing.py writes them as text, page.html.j2 as one HTML file. Not here: which events belong to the
failure (judging/).
"""
