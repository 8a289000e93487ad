"""-l select is combined with an old option for the same resource."""

from jobgen.lint.rules import Findings, Script, finding_at

_OLD_RESOURCES = ("ncpus", "nodes", "mpiprocs", "ompthreads")


def check(script: Script) -> Findings:
    for directive in script.active_directives if script.chunk_requests else ():
        old = [name for name, _ in directive.resources if name in _OLD_RESOURCES]
        if old:
            text = f"{old[0]} cannot be used with select: qsub refuses it"
            yield finding_at(directive, text, "write it in select, with a colon before it")
