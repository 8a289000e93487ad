"""Submits the jobs that a manifest still lacks, and follows many jobs at once.

Not here: the scripts of a manifest (repository/), one job (submission/), records (runs/).
"""
