"""The programs that a script carries to its nodes: the keeper, its orders, and the lead.

`keep` ends what a node's command leaves, `orders` warns ranks and has them write their stacks, and
`lead` is a small mpiexec for sites without one. They run without jobgen, by the standard library of
Python 3.6 to 3.14: `carried` joins them into one text. Not here: which script carries it (planner/)
and the bash that starts it (the folder templates/ of the project).
"""
