"""No scheduler: several "nodes" on this machine, each under a loopback address of its own."""

from __future__ import annotations

from jobgen.plan import Plan

COMMAND = "local"
TEMPLATE = "local.sh.j2"
VARIABLES: tuple[str, ...] = ()
NAME_RULE = r".+"
NAME_RULE_IN_WORDS = "any text"
LAUNCHERS = ("torchrun",)


def seconds(walltime: str) -> int | None:
    """There is no walltime here: no text is one."""
    return None


def directives(plan: Plan) -> tuple[str, ...]:
    """There is nobody to ask."""
    return ()
