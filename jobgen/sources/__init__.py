"""Where the values of a profile's file are from: documents, the lines of each, and our own reasons.

Here are the keys below `sources`, the check that every value has its source, and the page that
shows them. Not here: whether the words still are in their documents, which needs a network (the
registry's own check, packaging/registry).
"""
