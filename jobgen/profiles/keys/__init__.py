"""The keys of a profile, by group: what each means, what it may be, its default and an example.

Not here: the whole Profile with its few other groups (model), and what a kind of value allows
(kinds, records, units).
"""
