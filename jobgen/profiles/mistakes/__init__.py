"""What to write in a file instead of a mistake: its right name, at its right place.

The keys come as arguments: the records, which find a mistake, import this.
"""
