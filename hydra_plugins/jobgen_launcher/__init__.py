"""The plug-in of Hydra: `hydra/launcher=jobgen` submits the jobs of a multirun.

`config` has the fields, which come from the options of jobgen; `command_line` makes a job's program
and arguments of Hydra's config; `launcher` submits the jobs. Not here: anything that the command
line could not do; all of it goes through `jobgen.submit`. Hydra imports each module here at the
start of each program, so none imports at its top what only a submission needs.
"""
