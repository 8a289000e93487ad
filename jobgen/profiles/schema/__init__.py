"""The JSON Schema of a profile's file, for editors: the schemas of kinds, examples and defaults.

Not here: what a single kind allows; its checker and its schema stand side by side in kinds and
records.
"""
