"""Draws results as inline SVG: a map of all pairs, bars of all nodes, and curves of all-reduces.

Colours are classes, for which style.py has a light and a dark value. No drawing has a number that
a table of the page lacks, and none marks a node by its colour alone.
"""
