"""Slurm: its directives as lines, the options that a user adds, and conflicts of its starters."""

import re
from collections.abc import Callable
from operator import attrgetter

from jobgen.errors import problem
from jobgen.planning.plan import Directive, Plan, Request
from jobgen.profiles.keys.software import ENGINES
from jobgen.profiles.model import Profile
from jobgen.quoting import UNSEEN
from jobgen.schedulers import Note, Scheduler, Words, user_options
from jobgen.schedulers.slurm_directives import (
    LONG_NAMES,
    NOT_FOR_SALLOC,
    ON_COMMAND_LINE,
    SEPARATOR,
    Options,
    check_array_output,
    check_value,
    patterns,
    planned_options,
    quoted,
    seconds,
    step_gpus,
)

# These start nodes without Slurm: their processes are neither in a step nor in its cgroup.
_OUTSIDE_SLURM = ("ssh", "mpirun")

# Options that every step needs: its container, its network and its kind of MPI. All others (such as
# --gpu-bind) divide a node among ranks, but the check of a node has to see the whole node.
_OF_EVERY_STEP = re.compile(r"--(environment|network|mpi|uenv|view|container-[a-z-]+)(=|$)")
# Options of srun that contradict jobgen's script, with what to use instead.
_PLANNED_STEP = {
    **dict.fromkeys(("nodes", "N"), "jobgen's own -N, or request.nodes"),
    **dict.fromkeys(
        ("ntasks", "n", "ntasks-per-node", "ntasks-per-gpu"), "--set launch.processes_per_node=N"
    ),
    **dict.fromkeys(("nodelist", "w", "nodefile", "F"), "request.directives"),
    **dict.fromkeys(("exclude", "x"), "request.exclude"),
    **dict.fromkeys(("kill-on-bad-exit", "K", "no-kill", "k"), "-N MIN:MAX if nodes may be lost"),
    **dict.fromkeys(("relative", "r", "multi-prog", "pty", "jobid"), "leave it out"),
    **dict.fromkeys(("chdir", "D"), "request.chdir"),
    "export": "-e NAME=VALUE",
    "cpus-per-task": "--set request.cpus_per_task=N",
    "cpus-per-gpu": "--set request.cpus_per_gpu=N",
    "overlap": "leave it out",
}

# Options of sbatch that contradict every script that jobgen plans.
_PLANNED = (
    *("ntasks", "tasks-per-node", "gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task"),
    *("ntasks-per-gpu", "tres-per-task", "export-file", "get-user-env"),
    *("cpus-per-gpu", "cpus-per-task", "mincpus"),  # steps and OMP_NUM_THREADS need these
    *("array", "chdir", "container", "gpu-bind", "mem-per-cpu", "mem-per-gpu", "signal"),
    *("mem", "wait", "wrap"),
)
# Options that undo another option.
_OPPOSITE = {"no-requeue": "requeue", "oversubscribe": "exclusive", "share": "exclusive"}


def directives(plan: Plan) -> tuple[str, ...]:
    """The #SBATCH lines, in one fixed order; the user's own come last."""
    output_folder(plan)  # raises JobgenError if nobody can create the folder
    for place in ("output", "error"):
        path = getattr(plan.request, place)
        if plan.request.array and path:
            check_array_output(f"request.{place}", path)
    return tuple(f"#SBATCH {word}" for word in _words(planned_options(plan), plan, quoted))


def output_folder(plan: Plan) -> str:
    """The output's folder, with %x and %% replaced as by Slurm (sbatch(1), filename pattern)."""
    path = plan.request.output or ""
    folder, _, name = path.rpartition("/")
    if plan.request.output is not None and name in ("", ".", ".."):
        # Tried on 22.05: JobLaunchFailure.
        text = f"{path!r:.60} is not a file: Slurm would not start the job"
        raise problem("request.output", text, "value", "add the name of the file")
    if "\\" in path:
        return folder.replace("\\", "")
    if found := next((pattern for pattern in patterns(folder) if pattern != "%x"), None):
        text = f"the output's folder has {found} in it, and Slurm creates no folder"
        raise problem("request.output", text, "value", "use it in the file's name only")
    return re.sub("%[%x]", lambda found: plan.name if found[0] == "%x" else "%", folder)


def lost_without_folder(plan: Plan) -> str:
    """Returns the loss; without the folder, the job fails silently before the script runs."""
    return f"the job's output goes to {output_folder(plan)}, or is lost"


def interactive(plan: Plan) -> tuple[str, ...]:
    """Returns `salloc` with the directives' requests; a whole node needs no number of cores."""
    dropped = {"signal", "mail-user", "mail-type", *NOT_FOR_SALLOC}
    dropped |= {"ntasks-per-node", "cpus-per-task"} if plan.request.exclusive else set()
    dropped |= set() if plan.has_own_name else {"job-name"}
    options = {name: value for name, value in planned_options(plan).items() if name not in dropped}
    return ("salloc", *_words(options, plan, str, NOT_FOR_SALLOC))


_ONE_GPU = {"--gpus-per-task=1", "--gpu-bind=single:1"}


def step_options(profile: Profile, request: Request) -> tuple[Words, Words]:
    """Returns the options of every srun of the job, and those of only the srun of the ranks.

    Raises JobgenError for an option that contradicts the script.
    """
    options = profile.launch.srun_options
    for text in options:
        _check_step_option(text)
    every_step = tuple(text for text in options if _OF_EVERY_STEP.match(text))
    ranks = tuple(text for text in options if text not in every_step)
    if profile.launch.launcher == "torchrun" and (one := _ONE_GPU.intersection(ranks)):
        text = f"with the launcher torchrun, {min(one)} gives all ranks of a node one GPU"
        hint = "the launcher srun, or --set 'launch.srun_options=[]'"
        raise problem("launch.srun_options", text, "conflict", hint)
    ranks += ("--oom-kill-step=1",) * profile.launch.oom_kill_step
    return (*every_step, *step_gpus(request, profile.node.gpu_type)), ranks


def _check_step_option(text: str) -> None:
    place = "launch.srun_options"
    found = re.fullmatch(r"--([a-z][a-z0-9_-]*)(?:=.*)?|-([A-Za-z])(?!\s).*", text)
    if not found:
        hint = "one word for each option: --OPTION=VALUE, or a letter with its value, such as -c7"
        raise problem(place, f"{text!r:.80} is not an option of srun", "value", hint)
    name = found[1] or found[2]
    if name in _PLANNED_STEP:
        flag = f"--{name}" if found[1] else f"-{name}"
        raise problem(place, f"jobgen sets {flag} itself", "conflict", f"use {_PLANNED_STEP[name]}")


def starter_conflicts(profile: Profile, starter: str, note: Note) -> None:
    """Note the values that need srun as the starter: Slurm applies them only to its own steps."""
    if starter not in _OUTSIDE_SLURM:
        return
    launch, request, container = profile.launch, profile.request, profile.software.container
    reasons = {
        "launch.requeue": f"a job of {starter} is not put back into the queue",
        "launch.cpu_bind": "only srun binds tasks to cores",
        "launch.srun_options": "these options are srun's",
        "launch.oom_kill_step": "only a step of srun is ended as a whole",
        "request.spares": "only srun starts ranks on some of the job's nodes",
    }
    reasons = {path: text for path, text in reasons.items() if attrgetter(path)(profile)}
    if launch.launcher == "srun":
        reasons["launch.launcher"] = "srun starts the ranks itself"
    if request.min_nodes and request.min_nodes < request.nodes:
        reasons["request.min_nodes"] = "only srun goes on when a node is lost"
    for path, text in reasons.items():
        note(path, text, f"the starter srun instead of {starter}, or remove {path}")
    if container and not ENGINES[container.engine].ends_with_processes:
        text = "only Slurm, for what srun starts, ends containers of this engine"
        ending = [name for name, engine in ENGINES.items() if engine.ends_with_processes]
        hint = f"the starter srun, or the engine {' or '.join(ending)}"
        note("software.container.engine", text, hint)
    is_part = profile.gpus_per_node < profile.node.gpus
    if profile.node.gpu != "none" and is_part and not profile.has_whole_nodes:
        text = f"Slurm gives GPUs to what srun starts; by {starter}, jobs would use each other's"
        note("launch.starter", text, "whole nodes (request.exclusive), or all GPUs of a node")


def _words(
    options: Options, plan: Plan, quote: Callable[[str], str], dropped: frozenset[str] = frozenset()
) -> tuple[str, ...]:
    """Returns the planned options, then the user's; options of the user can be `dropped`."""
    for name, value in options.items():
        check_value(name, str(value), f"--{name}")
    words = [(name, None if value is True else str(value)) for name, value in options.items()]
    for name, text in user_options(plan, lambda each: _user_option(each, options)):
        if name == "export":
            _check_export(text or "", plan.software.submitted)
        words += [(name, text)] * (name not in dropped)
    return tuple(f"--{name}" if text is None else f"--{name}={quote(text)}" for name, text in words)


def _check_export(value: str, names: tuple[str, ...]) -> None:
    """Raise JobgenError for an --export that does not pass on the variables with these names.

    Without --export, sbatch passes on all variables (sbatch(1), --export); NONE stands alone.
    """
    passed = value.split(",")
    lost = [name for name in names if name not in passed]
    if lost and "ALL" not in map(str.upper, passed):
        others = [name for name in passed if name.upper() not in ("NONE", "NIL", "")]
        hint = f"write --export={','.join([*others, *lost])}, which passes these alone"
        text = f"--export={value:.80} does not pass {', '.join(lost)} on"
        raise problem("-e", text, "conflict", hint)


def _user_option(directive: Directive, options: Options) -> tuple[str, str | None]:
    """Returns the full name and the value of an option that a person wrote.

    sbatch takes the beginning of an option's name for the whole name. Raises JobgenError for a text
    that is no option, and for an option that contradicts the script.
    """
    text, place = re.sub(r"^#SBATCH\s+", "", directive.text), directive.place
    name, given = _parsed(text, place)
    value = given or ""
    if word := SEPARATOR.search(text):
        text = f"{text!r:.80} has `{word[0]}` in it, which sbatch takes for a separator of jobs"
        raise problem(place, text, "value", "one job at a time")
    if "gres".startswith(name):
        _check_gres(value, options, place)
    plain = name.replace("_", "-")  # a site's own option may have a _; sbatch's own have a -
    planned = (each for each in (*_PLANNED, *options) if each.startswith(plain))
    if name != "export" and (first := next(planned, None)):  # export is not short for export-file
        first = plain if plain in (*_PLANNED, *options) else first  # `mem` is short for others, too
        from jobgen.planning.key_words import option_words  # only a mistake needs it

        words = option_words(first, "sbatch", value)
        hint = f"use {words}" if words else "leave it out"
        raise problem(place, f"jobgen sets --{first} itself", "conflict", hint)
    if first := next((each for each in ON_COMMAND_LINE if each.startswith(name)), None):
        text = f"--{first} does not belong in a script"
        raise problem(place, text, "conflict", ON_COMMAND_LINE[first])
    for opposite, undone in _OPPOSITE.items():
        if opposite.startswith(name) and undone in options:
            text = f"--{name} undoes the --{undone} that is requested"
            raise problem(place, text, "conflict", "give one of the two")
    if "array" in options and any(file.startswith(name) for file in ("output", "error")):
        check_array_output(place, value)
    check_value(name, value, place)
    return name, given


def _parsed(text: str, place: str) -> tuple[str, str | None]:
    """Returns the name and the value of --OPTION, --OPTION=VALUE, or a letter with a value."""
    if found := re.fullmatch(r"--([a-z][a-z0-9_-]*)(?:=(.*))?", text, re.DOTALL):
        return found[1], found[2]
    if (found := re.fullmatch(r"-([A-Za-z])[ =]?(.*)", text, re.DOTALL)) and found[1] in LONG_NAMES:
        return LONG_NAMES[found[1]], found[2] or None
    words = re.fullmatch(r"-{0,2}([a-z][a-z0-9_-]+)[ =]+(\S+)", text)
    right = f"--{words[1]}={words[2]}" if words else ""
    hint = f"write --directive={right}" if right else "such as --directive=--constraint=ib"
    raise problem(place, f"{text!r:.80} is not --OPTION or --OPTION=VALUE", "value", hint)


def _check_gres(value: str, options: Options, place: str) -> None:
    if found := re.search(r"gpu(?::([A-Za-z][\w.-]*))?(?:[:=](\d+))?", value):
        hint = "use -G" + (f" {found[2]}" if found[2] else "")
        if found[1]:
            hint += f", and --set node.gpu_type={found[1]}"
        raise problem(place, "jobgen requests GPUs itself", "conflict", hint)
    if "gres" in options:
        text, hint = "jobgen sets --gres itself", "--set request.gpu_option=gpus-per-node frees it"
        raise problem(place, text, "conflict", hint)


SCHEDULER = Scheduler(
    template="sbatch.sh.j2",
    launchers=("torchrun", "srun", "node"),
    # Any name, but not . or .., and without /: the path of the job's output has the name in it.
    name_rule=rf"(?i:(?!.*(?:packjob|hetjob)))(?!\.\.?$)[^/{UNSEEN}]+",
    name_rule_in_words="one line of visible characters, not . or .., without /, hetjob and packjob",
    time_rule_in_words="write 90m, 24h, 1d12h, minutes (90), H:MM:SS (1:30:00) or D-HH:MM:SS"
    " (2-12:00:00), at most 24855 days",
    directives=directives,
    interactive=interactive,
    seconds=seconds,
    output_folder=output_folder,
    lost_without_folder=lost_without_folder,
    step_options=step_options,
    starter_conflicts=starter_conflicts,
    starters=("srun", *_OUTSIDE_SLURM),
    gpu_options=("gres", "gpus-per-node", "gpus-per-task", "gpus", "none"),
    variables=tuple(
        "SLURM_JOB_ID SLURM_JOB_NAME SLURM_JOB_NODELIST SLURM_NNODES SLURM_NODEID SLURM_PROCID"
        " SLURM_LOCALID SLURM_NTASKS SLURM_ARRAY_TASK_ID".split()
    ),
    array_index="SLURM_ARRAY_TASK_ID",
    elastic=True,
    signals=True,
    requeues_at_walltime=True,
    kill_delay=30,  # slurm.conf(5), KillWait
    # New options, each with its first release (src/common/slurm_opt.c at the releases' tags).
    new_options={
        **dict.fromkeys(("segment", "stepmgr"), "24.05"),
        "oom-kill-step": "24.11",
        "wait-for-children": "25.05",
        **dict.fromkeys(("requeue=expedite", "consolidate-segments", "spread-segments"), "25.11"),
        "async": "26.05",
    },
)
