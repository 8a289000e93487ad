"""The records that a value passes through: Job (what the user asks for) and Plan (all decided).

Here is what these records hold, and how a command line becomes a Job. Not here: how a Job and a
Profile become a Plan (planner/), and how a Plan becomes text (schedulers/, scripts/).
"""
