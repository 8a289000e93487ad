"""Gives a script to the scheduler, and follows the job to its end (--submit, --wait).

The scheduler's own commands do it, as a person would call them. Not here: the text of the script
(scripts/), and how a job's status is shown (cli/job_status).
"""
