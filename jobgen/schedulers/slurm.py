"""Slurm: its directives, their quoting and their limits."""

from __future__ import annotations

import re
from collections.abc import Callable

from jobgen.errors import problem
from jobgen.planning.plan import Plan, Request
from jobgen.profiles.model import Profile
from jobgen.quoting import UNSEEN
from jobgen.schedulers.slurm_gpus import gpu_options, step_gpus
from jobgen.schedulers.slurm_options import (
    NOT_FOR_SALLOC,
    Options,
    check_array_output,
    check_export,
    option_word,
    patterns,
    quoted,
    user_option,
)
from jobgen.schedulers.slurm_steps import sorted_options

TEMPLATE = "sbatch.sh.j2"
VARIABLES = (
    *("SLURM_JOB_ID", "SLURM_JOB_NAME", "SLURM_JOB_NODELIST", "SLURM_NNODES", "SLURM_NODEID"),
    *("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_ARRAY_TASK_ID"),
)
# Slurm takes any name; but a / or .. would put the output, whose path has it, into another folder.
NAME_RULE = rf"(?i:(?!.*(?:packjob|hetjob)))(?!\.\.?$)[^/{UNSEEN}]+"
NAME_RULE_IN_WORDS = "one line of visible characters, not . or .., without /, hetjob and packjob"
TIME_RULE_IN_WORDS = (
    "write minutes (90), H:MM:SS (1:30:00) or D-HH:MM:SS (2-12:00:00), at most 24855 days"
)
ARRAY_INDEX = "SLURM_ARRAY_TASK_ID"
LAUNCHERS = ("torchrun", "srun", "node")
STARTERS = ("srun", "ssh", "mpirun")
GPU_OPTIONS = ("gres", "gpus-per-node", "gpus-per-task", "gpus", "none")
FOREIGN_KEYS = {
    "launch.mpiexec_options": "Slurm has `launch.srun_options`",
    "queue": "Slurm has a `partition`",
}
ELASTIC = SIGNALS = REQUEUES_AT_WALLTIME = True
KILL_DELAY = 30  # slurm.conf(5), KillWait

_TIME = re.compile(
    r"(?P<days>\d+)-(?P<dh>\d+)(:(?P<dm>\d+)(:(?P<ds>\d+))?)?"
    r"|(?P<h>\d+):(?P<hm>\d+):(?P<hs>\d+)|(?P<m>\d+)(:(?P<s>\d+))?",
    re.ASCII,
)
_LONGEST_TIME = 24855 * 86400


def seconds(walltime: str) -> int | None:
    """Seconds of M, M:S, H:M:S, D-H, D-H:M or D-H:M:S (sbatch(1), --time): `90` is 90 minutes.

    sbatch counts them in 31 bits, and makes another time of 24856 days (22.05, measured).
    """
    found = _TIME.fullmatch(walltime)
    if not found or len(walltime) > 20:
        return None
    part = {name: int(text or 0) for name, text in found.groupdict().items()}
    hours = part["days"] * 24 + part["dh"] + part["h"]
    minutes = part["dm"] + part["hm"] + part["m"]
    length = hours * 3600 + minutes * 60 + part["ds"] + part["hs"] + part["s"]
    return length if length <= _LONGEST_TIME else None


def directives(plan: Plan) -> tuple[str, ...]:
    """The #SBATCH lines, in one fixed order; the user's own come last."""
    output_folder(plan)  # raises for a folder that nobody can create
    for place in ("output", "error"):
        path = getattr(plan.request, place)
        if plan.request.array and path:
            check_array_output(f"request.{place}", path)
    return tuple(f"#SBATCH {word}" for word in _words(_options(plan), plan, quoted))


def output_folder(plan: Plan) -> str:
    """The folder after Slurm's replacement of %x and %% (sbatch(1), filename pattern)."""
    path = plan.request.output or ""
    folder, _, name = path.rpartition("/")
    if plan.request.output is not None and name in ("", ".", ".."):
        text = (
            f"{path!r:.60} is not a file: Slurm would not start the job"  # JobLaunchFailure, 22.05
        )
        raise problem("request.output", text, "value", "add the name of the file")
    if "\\" in path:
        return folder.replace("\\", "")
    if found := next((pattern for pattern in patterns(folder) if pattern != "%x"), None):
        text = f"the output's folder has {found} in it, and Slurm creates no folder"
        raise problem("request.output", text, "value", "use it in the file's name only")
    return re.sub("%[%x]", lambda found: plan.name if found[0] == "%x" else "%", folder)


def lost_without_folder(plan: Plan) -> str:
    """Slurm opens the file before the script runs; without the folder the job fails silently."""
    return f"the job's output goes to {output_folder(plan)}, or is lost"


def interactive(plan: Plan) -> tuple[str, ...]:
    """`salloc` with what the directives request; a whole node needs no number of cores."""
    dropped = {"signal", "mail-user", "mail-type", *NOT_FOR_SALLOC}
    dropped |= {"ntasks-per-node", "cpus-per-task"} if plan.request.exclusive else set()
    dropped |= set() if plan.has_own_name else {"job-name"}
    options = {name: value for name, value in _options(plan).items() if name not in dropped}
    return ("salloc", *_words(options, plan, str, NOT_FOR_SALLOC))


def step_options(profile: Profile, request: Request) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The options of every srun of the job, and those of the srun that starts the ranks alone.

    Raises JobgenError for an option that contradicts the script.
    """
    every_step, ranks = sorted_options(profile.launch.srun_options)
    return (*every_step, *step_gpus(request, profile.node.gpu_type)), ranks


def _nodes(plan: Plan) -> str:
    request = plan.request
    least = f"{request.min_nodes}-" if plan.elastic else ""
    return f"{least}{request.nodes + request.spares}"


def _options(plan: Plan) -> Options:
    request, launch = plan.request, plan.launch
    options: dict[str, str | int | bool | None] = {
        "job-name": plan.name,
        "partition": request.partition,
        "account": request.account,
        "qos": request.qos,
        "reservation": request.reservation,
        "constraint": request.constraint,
        "licenses": request.licenses,
        "exclude": request.exclude,
        "nodes": _nodes(plan),
        "no-kill": plan.elastic or plan.replaces,
        # With it, Slurm would count the tasks of the fewest nodes, and give no more nodes.
        "ntasks-per-node": None if plan.elastic else request.tasks_per_node,
        "cpus-per-task": request.cpus_per_task,
        "threads-per-core": request.threads_per_core,
        "hint": request.hint,
        **gpu_options(request, plan.node.gpu_type),
        "exclusive": request.exclusive,
        "mem": "0" if request.memory == "all" else request.memory,
        "mem-per-cpu": request.memory_per_cpu,
        "mem-per-gpu": request.memory_per_gpu,
        "time": _clock(request.time),
        "signal": launch.signal and f"B:USR1@{launch.signal}",
        "requeue": launch.requeue,
        "open-mode": "append" if launch.requeue else None,
        "chdir": request.chdir,
        "output": request.output,
        "error": request.error,
        "array": _array(request.array),
        "dependency": ",".join(map(_after, request.after)) or None,
        # Without it, a job waits for ever for one that ended in the other way.
        "kill-on-invalid-dep": "yes" if request.after else None,
        "mail-user": request.mail,
        "mail-type": ",".join(request.mail_on).upper() or None,
    }
    return {name: value for name, value in options.items() if value not in (None, False)}


def _words(
    options: Options,
    plan: Plan,
    quote: Callable[[str], str],
    dropped: frozenset[str] = frozenset(),
) -> tuple[str, ...]:
    """The planned options and then the user's, without those of the user's that are `dropped`."""
    words = [
        option_word(name, None if value is True else str(value), quote)
        for name, value in options.items()
    ]
    for directive in plan.request.directives:
        name, value = user_option(directive, options)
        if name == "export":
            check_export(value or "", plan.software.submitted)
        if name not in dropped:
            words.append(option_word(name, value, quote))
    return tuple(words)


def _array(text: str | None) -> str | None:
    item = r"\d{1,9}(-\d{1,9}(:[1-9]\d{,8})?)?"
    if text is None:
        return None
    if re.fullmatch(rf"{item}(,{item})*(%[1-9]\d{{,8}})?", text, re.ASCII):
        ranges = [part.split("-") for part in re.split("[,:%]", text) if "-" in part]
        if all(int(first) <= int(last) for first, last in ranges):
            return text
    raise problem(
        "--array", f"{text!r:.40} is not an array", "value", "such as 0-9, 0-9%2 or 1,4,7-9"
    )


def _after(text: str) -> str:
    """A job, or one job of an array (123_4), and how it must have ended."""
    found = re.fullmatch(r"(\d{1,10}(?:_\d{1,10})?)(?::(ok|any|notok))?", text, re.ASCII)
    if not found:
        hint = "ID[:ok|any|notok], such as 123 or 123_4:any"
        raise problem("--after", f"{text!r:.40} is not a job of Slurm", "value", hint)
    if any(int(number) >= 1 << 32 for number in found[1].split("_")):
        raise problem("--after", f"{text!r:.40} is not a job of Slurm", "limit", "32 bits at most")
    return f"after{found[2] or 'ok'}:{found[1]}"


def _clock(seconds: int | None) -> str | None:
    if seconds is None:
        return None
    days, rest = divmod(seconds, 86400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{clock}" if days else clock
