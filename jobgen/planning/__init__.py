"""The records of a job: Job (what the user asks for) and Plan (everything is decided).

These modules define the records, and read a Job from a command line. Not here: how a Job and a
Profile become a Plan (planner/), and how a Plan becomes text (schedulers/, scripts/).
"""
