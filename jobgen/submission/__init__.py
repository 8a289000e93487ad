"""Gives a script to the scheduler, and follows the job to its end (--submit, --wait).

This package calls the scheduler's own commands, as a person would, and shows progress on stderr.
Not here: the text of the script (scripts/), and the cause of a failed job (diagnosis/).
"""
