"""Hints for a mistake in a file or an option: the right name at the right place.

The keys are arguments, since the module `records`, which finds mistakes, imports these modules.
"""
