"""Options of sbatch: those of a plan, those that --directive may add, and each as a word."""

import re
from collections.abc import Callable
from typing import Any

from jobgen.errors import problem
from jobgen.planning.plan import Directive, Plan
from jobgen.schedulers import checked_visible
from jobgen.schedulers.slurm_values import after, array, check_array_output, clock, gpu_options

Options = dict[str, str | int | bool]

# The most bytes that slurmctld takes (src/slurmctld/job_mgr.c, `_validate_job_desc`).
_LONGEST = {
    **dict.fromkeys(
        "account comment constraint job-name licenses mail-user partition prefer qos reservation"
        " wckey".split(),
        1024,
    ),
    **dict.fromkeys(("array", "error", "input", "output"), 4096),
}
# sbatch takes a line with one of these words anywhere for a separator (src/sbatch/opt.c).
_SEPARATOR = re.compile("packjob|hetjob", re.IGNORECASE)


def option_word(name: str, value: str | None, quote: Callable[[str], str]) -> str:
    """An option with its value. Raises JobgenError for a value that sbatch would not take."""
    if value is None:
        return f"--{name}"
    size, most = len(value.encode("utf-8", "surrogateescape")), _LONGEST.get(name, 1 << 16)
    if size > most:
        raise problem(f"--{name}", f"{size} bytes", "limit", f"Slurm takes {most}")
    if found := _SEPARATOR.search(value):
        text = f"{value!r:.80} has `{found[0]}` in it, which sbatch takes for a separator of jobs"
        raise problem(f"--{name}", text, "value", "choose another")
    return f"--{name}={quote(checked_visible(value, f'--{name}'))}"


# What salloc does not have (tried with 22.05).
NOT_FOR_SALLOC = frozenset(
    """
    array batch error export export-file ignore-pbs input kill-on-invalid-dep open-mode output
    parsable propagate requeue no-requeue test-only umask wrap
    """.split()
)
# The letters of sbatch's options (sbatch(1)).
LONG_NAMES = dict(
    pair.split(":")
    for pair in """
    A:account a:array b:begin C:constraint c:cpus-per-task D:chdir d:dependency e:error F:nodefile
    G:gpus H:hold i:input J:job-name k:no-kill L:licenses M:clusters m:distribution N:nodes n:ntasks
    O:overcommit o:output p:partition q:qos S:core-spec s:oversubscribe t:time w:nodelist x:exclude
    B:extra-node-info Q:quiet W:wait v:verbose
    """.split()
)
# Options that contradict every script that jobgen plans.
_PLANNED = (
    *("ntasks", "tasks-per-node", "gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task"),
    *("ntasks-per-gpu", "tres-per-task", "export-file", "get-user-env"),
    *("cpus-per-gpu", "cpus-per-task", "mincpus"),  # steps and OMP_NUM_THREADS need them, too
    *("array", "chdir", "container", "gpu-bind", "mem-per-cpu", "mem-per-gpu", "signal", "wait"),
    "wrap",
)
# Options that do not belong in a script that others submit, with what to do instead.
ON_COMMAND_LINE = {
    "workdir": "use --set request.chdir=FOLDER",
    **dict.fromkeys(("uid", "gid"), "submit as that user"),
    **dict.fromkeys(
        ("test-only", "parsable", "help", "usage", "version"), "use it on sbatch's own command line"
    ),
}
# Options that undo another option.
_OPPOSITE = {"no-requeue": "requeue", "oversubscribe": "exclusive", "share": "exclusive"}


def planned_options(plan: Plan) -> Options:
    """The options of sbatch for a plan, in the order in which they are written."""
    options = {"job-name": plan.name, **_options_of_nodes(plan), **_options_of_run(plan)}
    return {name: value for name, value in options.items() if value not in (None, False)}


def _options_of_nodes(plan: Plan) -> dict[str, Any]:
    """Which nodes a job gets, and what of them."""
    request = plan.request
    return {
        "partition": request.partition,
        "account": request.account,
        "qos": request.qos,
        "reservation": request.reservation,
        "constraint": request.constraint,
        "licenses": request.licenses,
        "exclude": request.exclude,
        "nodes": _nodes(plan),
        "segment": request.segment,
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
    }


def _options_of_run(plan: Plan) -> dict[str, Any]:
    """When a job runs, and what the scheduler does with it."""
    request, launch = plan.request, plan.launch
    return {
        "time": clock(request.time),
        "signal": launch.signal and f"B:USR1@{launch.signal}",
        "requeue": "expedite" if launch.expedite else launch.requeue,
        "open-mode": "append" if launch.requeue else None,
        "chdir": request.chdir,
        "output": request.output,
        "error": request.error,
        "array": array(request.array),
        "dependency": ",".join(map(after, request.after)) or None,
        # Without it, a job waits for ever for one that ended in the other way.
        "kill-on-invalid-dep": "yes" if request.after else None,
        "mail-user": request.mail,
        "mail-type": ",".join(request.mail_on).upper() or None,
    }


def _nodes(plan: Plan) -> str:
    request = plan.request
    least = f"{request.min_nodes}-" if plan.elastic else ""
    return f"{least}{request.nodes + request.spares}"


def user_option(directive: Directive, options: Options) -> tuple[str, str | None]:
    """The full name and the value of a directive, which a person wrote.

    sbatch takes the beginning of an option's name for the whole. Raises JobgenError for what is not
    an option, and for one that contradicts the script.
    """
    text, place = directive
    name, value = _parsed(text, place)
    if word := _SEPARATOR.search(text):
        text = f"{text!r:.80} has `{word[0]}` in it, which sbatch takes for a separator of jobs"
        raise problem(place, text, "value", "one job at a time")
    if "gres".startswith(name):
        _check_gres(value or "", options, place)
    plain = name.replace("_", "-")  # a site's own option may have a _; sbatch's own have a -
    planned = (each for each in (*_PLANNED, *options) if each.startswith(plain))
    if name != "export" and (first := next(planned, None)):  # which is not short for --export-file
        first = plain if plain in (*_PLANNED, *options) else first  # `mem` is short for others, too
        from jobgen.planning.key_words import option_words  # only a mistake needs it

        words = option_words(first, "sbatch", value or "")
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
        check_array_output(place, value or "")
    return name, value


def _parsed(text: str, place: str) -> tuple[str, str | None]:
    """The name and the value of --OPTION, --OPTION=VALUE or of a letter with its value."""
    if found := re.fullmatch(r"--([a-z][a-z0-9_-]*)(?:=(.*))?", text, re.DOTALL):
        return found[1], found[2]
    if (found := re.fullmatch(r"-([A-Za-z])[ =]?(.*)", text, re.DOTALL)) and found[1] in LONG_NAMES:
        return LONG_NAMES[found[1]], found[2] or None
    words = re.fullmatch(r"(?:#SBATCH +)?-{0,2}([a-z][a-z0-9_-]+)[ =]+(\S+)", text)
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
