"""The command that asks a scheduler for nodes and a shell on them."""

from __future__ import annotations

from jobgen import shell
from jobgen.plan import Plan
from jobgen.schedulers import scheduler


def line(plan: Plan) -> str:
    """The command as one line for bash. Raises JobgenError where there is no scheduler."""
    words = scheduler(plan.scheduler).interactive(plan)
    return " ".join(map(shell.quote, words)) + "\n"
