"""No scheduler: several "nodes" on this machine, each with a loopback address of its own."""

from jobgen.errors import problem
from jobgen.planning.plan import Plan
from jobgen.profiles.model import Profile
from jobgen.schedulers import Note

TEMPLATE = "local.sh.j2"
VARIABLES: tuple[str, ...] = ()
NAME_RULE = r".+"
NAME_RULE_IN_WORDS = "any text"
TIME_RULE_IN_WORDS = "a local job has no walltime: leave it out"
ARRAY_INDEX = ""
LAUNCHERS = ("torchrun", "node")
STARTERS: tuple[str, ...] = ()
GPU_OPTIONS: tuple[str, ...] = ()
ELASTIC = True
SIGNALS = REQUEUES_AT_WALLTIME = False
KILL_DELAY = None
NEW_OPTIONS: dict[str, str] = {}
MOST_NODES = 254  # 127.0.0.1 to 127.0.0.254


def seconds(walltime: str) -> int | None:
    """None for each text: a local job has no walltime."""
    return None


def directives(plan: Plan) -> tuple[str, ...]:
    """None. Raises JobgenError for what one machine does not have."""
    nodes = plan.request.nodes
    if nodes > 1 and plan.checked_gpus:
        text = f"{nodes} nodes on one machine would all use the same GPUs"
        raise problem("-N", text, "conflict", "-N 1, with as many ranks as there are GPUs")
    if nodes > MOST_NODES:
        raise problem("-N", f"{nodes} nodes", "limit", f"at most {MOST_NODES} here")
    return ()


def step_options(plan: Plan) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """There are no steps."""
    return (), ()


def starter_conflicts(profile: Profile, starter: str, note: Note) -> None:
    """There is no starter."""


def output_folder(plan: Plan) -> str:
    """The output goes to the terminal."""
    return ""


def lost_without_folder(plan: Plan) -> str:
    """Nothing is lost."""
    return ""


def interactive(plan: Plan) -> tuple[str, ...]:
    """There is no scheduler: JobgenError."""
    text, hint = "this machine has no scheduler", "choose a profile for Slurm or PBS"
    raise problem("--profile", text, "scheduler", hint)
