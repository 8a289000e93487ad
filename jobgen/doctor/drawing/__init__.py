"""The numbers of the drawings: a map of all pairs, bars of all nodes, and curves of all-reduces.

Not here: the lines of SVG that are made of them (assets/drawings.html.j2).
"""
