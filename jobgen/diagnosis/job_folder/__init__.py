"""Reads the folder that a job's script leaves, `jobgen-logs/JOBID`, and judges what failed first.

layout.py finds the files, within bounds; ranks.py says which rank wrote which file; hangs.py finds
the rank that others waited for; endings.py finds how ranks ended that wrote nothing, and what the
kernel and the GPUs of their nodes noted; verdict.py makes the verdict. Not here: how a line is
read and what it means (lines/, classes/), and the scripts that write the folder (templates/).
"""
