"""No scheduler: several "nodes" on this machine, each with a loopback address of its own."""

from jobgen.errors import problem
from jobgen.planning.plan import Plan
from jobgen.schedulers import Scheduler

MOST_NODES = 254  # 127.0.0.1 to 127.0.0.254


def directives(plan: Plan) -> tuple[str, ...]:
    """Returns no lines. Raises JobgenError for several nodes with GPUs, and for too many nodes."""
    nodes = plan.request.nodes
    if nodes > 1 and plan.checked_gpus:
        text = f"{nodes} nodes on one machine would all use the same GPUs"
        raise problem("-N", text, "conflict", "-N 1, with as many ranks as there are GPUs")
    if nodes > MOST_NODES:
        raise problem("-N", f"{nodes} nodes", "limit", f"at most {MOST_NODES} here")
    return ()


def interactive(plan: Plan) -> tuple[str, ...]:
    """Raise JobgenError: without a scheduler, no interactive job can be requested."""
    text, hint = "this machine has no scheduler", "choose a profile for Slurm or PBS"
    raise problem("--profile", text, "scheduler", hint)


SCHEDULER = Scheduler(
    template="local.sh.j2",
    launchers=("torchrun", "node"),
    name_rule=r".+",
    name_rule_in_words="any text",
    time_rule_in_words="a local job has no walltime: leave it out",
    directives=directives,
    interactive=interactive,
    elastic=True,
)
