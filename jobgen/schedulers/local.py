"""No scheduler: several "nodes" on this machine, each under a loopback address of its own."""

from __future__ import annotations

from jobgen.errors import problem
from jobgen.plan import Plan

TEMPLATE = "local.sh.j2"
VARIABLES: tuple[str, ...] = ()
NAME_RULE = r".+"
NAME_RULE_IN_WORDS = "any text"
TIME_RULE_IN_WORDS = "nothing ends a job here: leave it out"
ARRAY_INDEX = ""
LAUNCHERS = ("torchrun",)
ELASTIC = True
SIGNALS = REQUEUES_AT_WALLTIME = False
MOST_NODES = 254  # 127.0.0.1 to 127.0.0.254


def seconds(walltime: str) -> int | None:
    """There is no walltime here: no text is one."""
    return None


def directives(plan: Plan) -> tuple[str, ...]:
    """There is nobody to ask. Raises JobgenError for what one machine does not have."""
    if plan.nodes > 1 and plan.checked_gpus:
        text = f"{plan.nodes} nodes on one machine would all use the same GPUs"
        raise problem("-N", text, "conflict", "-N 1, with as many ranks as there are GPUs")
    if plan.nodes > MOST_NODES:
        raise problem("-N", f"{plan.nodes} nodes", "limit", f"at most {MOST_NODES} here")
    return ()


def output_folder(plan: Plan) -> str:
    """Output goes where the script's does."""
    return ""


def lost_without(plan: Plan) -> str:
    """Nothing is lost."""
    return ""


def interactive(plan: Plan) -> tuple[str, ...]:
    """There is nobody to ask: JobgenError."""
    text, hint = "this machine has no scheduler to ask", "choose a profile for Slurm or PBS"
    raise problem("--profile", text, "scheduler", hint)
