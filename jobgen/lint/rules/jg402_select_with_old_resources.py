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

import re

from jobgen.lint.rules import Findings, Script, finding_at

_OLD_RESOURCE = re.compile(r"(?:^|,)(ncpus|nodes|mpiprocs|ompthreads)=")


def check(script: Script) -> Findings:
    for directive in script.active_directives if script.chunk_requests else ():
        if directive.scheduler == "pbs" and directive.option == "l":
            outside = re.sub(r"(select|place)=[^,]*", "", directive.value)
            if resource := _OLD_RESOURCE.search(outside):
                text = f"{resource[1]} cannot be used with select: qsub refuses it"
                cure = "write it in select, with a colon before it"
                yield finding_at(directive, text, cure)
