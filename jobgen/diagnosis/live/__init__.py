"""Watches the output of a running job: `jobgen why --follow`.

growing_file.py reads what was added to a file; writers.py knows when each rank wrote last;
follow.py judges what was read, says what is new, and ends with the job. Not here: what a line means
(lines/), and how a scheduler is asked (submission/).
"""
