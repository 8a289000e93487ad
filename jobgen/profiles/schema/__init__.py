"""The JSON Schema of a profile's file, for editors: the kinds' own, with examples and defaults.

Not here: what a single kind allows; its checker and its schema stand side by side in kinds and
records.
"""
