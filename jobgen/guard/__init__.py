"""Lints each script at its submission, for all users of a site, and refuses what the site refuses.

A service (service) judges scripts that it gets as bytes; a small program (client) reads a script
with its user's rights and asks the service; a filter of sbatch and a hook of PBS run that program.
Whatever fails or is slow, the job is submitted. Not here: how a script is linted (lint/).
"""
