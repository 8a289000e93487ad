"""Copies of the user's code, each in a folder that is named by its content.

`code_files` finds what belongs to the code of a folder, `store` keeps it where all nodes read it.
What a job does with its copy is bash: templates/machinery/job/code.sh.
"""
