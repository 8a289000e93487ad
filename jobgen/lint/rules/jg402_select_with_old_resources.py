"""-l select is combined with an old option for the same resource.

A job requests what a chunk has in `select`, or in the old way with `-l ncpus`, `-l nodes` and so
on. PBS refuses a job that uses both.

Evidence: pbs_resources(7B); tried on OpenPBS: "cannot be used with "select" or "place"".

Cure: `-l select=N:ncpus=…:mem=…`; walltime stays outside.

Example:
- #PBS -l select=2:ncpus=4
- #PBS -l ncpus=8
+ #PBS -l select=2:ncpus=8
+ #PBS -l walltime=1:00:00
  hostname
"""

from jobgen.lint.rules import Findings, Script, finding_at

_OLD_RESOURCES = ("ncpus", "nodes", "mpiprocs", "ompthreads")


def check(script: Script) -> Findings:
    for directive in script.active_directives if script.chunk_requests else ():
        old = [name for name, _ in directive.resources if name in _OLD_RESOURCES]
        if old:
            text = f"{old[0]} cannot be used with select: qsub refuses it"
            yield finding_at(directive, text, "write it in select, with a colon before it")
