"""Gives a script to the scheduler, and follows the job to its end (--submit, --wait).

The scheduler's own commands do it, as a person would call them; progress is shown on stderr. Not
here: the text of the script (scripts/), and what failed in a job (diagnosis/).
"""
