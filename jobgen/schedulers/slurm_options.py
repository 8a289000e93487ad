"""Options of sbatch as words of a directive, and those that --directive may add."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from jobgen.errors import problem
from jobgen.planning.plan import Directive
from jobgen.schedulers import checked_visible

Options = dict[str, str | int | bool]

_PLAIN = re.compile(r"[A-Za-z0-9_.,:/@%+=^\[\]*&|-]+")
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


@lru_cache(1024)  # many scripts have most of their options in common
def option_word(name: str, value: str | None, quote: Callable[[str], str]) -> str:
    if value is None:
        return f"--{name}"
    size, most = len(value.encode("utf-8", "surrogateescape")), _LONGEST.get(name, 1 << 16)
    if size > most:
        raise problem(f"--{name}", f"{size} bytes", "limit", f"Slurm takes {most}")
    if found := _SEPARATOR.search(value):
        text = f"{value!r:.80} has `{found[0]}` in it, which sbatch takes for a separator of jobs"
        raise problem(f"--{name}", text, "value", "choose another")
    return f"--{name}={quote(checked_visible(value, f'--{name}'))}"


def quoted(value: str) -> str:
    r"""A value as sbatch reads it: in double quotes, in which \ escapes any character.

    Nothing else is special inside them (src/sbatch/opt.c, `_get_argument`).
    """
    if _PLAIN.fullmatch(value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def patterns(path: str) -> list[str]:
    r"""What Slurm replaces in a path, except %%: nothing if there is a \, which it removes."""
    found = [] if "\\" in path else re.findall("%%|%[0-9]*[a-zA-Z]", path)
    return [pattern for pattern in found if pattern != "%%"]


def check_array_output(place: str, path: str) -> None:
    """Raise JobgenError for a file that all jobs of an array would write."""
    if path != "/dev/null" and not re.search("[ajJ]", "".join(patterns(path))):
        text = f"all jobs of the array would write {path!r:.60}"
        raise problem(place, text, "conflict", "use %a or %j in it")


def check_export(value: str, names: tuple[str, ...]) -> None:
    """Raise JobgenError for an --export that does not pass the variables with these names on.

    Without it, sbatch passes all (sbatch(1), --export); NONE stands alone.
    """
    passed = value.split(",")
    lost = [name for name in names if name not in passed]
    if lost and "ALL" not in map(str.upper, passed):
        others = [name for name in passed if name.upper() not in ("NONE", "NIL", "")]
        hint = f"write --export={','.join([*others, *lost])}, which passes these alone"
        text = f"--export={value:.80} does not pass {', '.join(lost)} on"
        raise problem("-e", text, "conflict", hint)


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
    """.split()
)
# What says the same to jobgen: words of its command line, and after a comma what they mean.
_GPUS = "-G N, the GPUs on each node"
_GPU_OPTION = f"{_GPUS}, requested as request.gpu_option says"
_RANKS = "--set launch.processes_per_node=N, the ranks on each node"
_CORES = "--set node.cpus=N, the cores of a whole node"
OWN_WORDS = {
    **dict.fromkeys(("ntasks", "tasks", "ntasks-per-node", "tasks-per-node"), _RANKS),
    "ntasks-per-gpu": _RANKS,
    **dict.fromkeys(("gpus", "gres", "gpus-per-socket", "tres-per-task"), _GPUS),
    **dict.fromkeys(("gpus-per-node", "gpus-per-task"), _GPU_OPTION),
    **dict.fromkeys(("cpus-per-task", "cpus-per-gpu", "mincpus"), _CORES),
    **dict.fromkeys(("export", "export-file", "get-user-env"), "-e NAME=VALUE, or -e NAME"),
    "account": "-A NAME",
    "array": "--array FIRST-LAST",
    "chdir": "--set request.chdir=FOLDER",
    "constraint": "-C EXPRESSION",
    "container": "--set software.container.image=IMAGE",
    "dependency": "--after ID",
    "error": "--set request.error=FILE",
    "exclude": "--set request.exclude=NODES",
    "exclusive": "--exclusive",
    # On sbatch it would hide GPUs from the check of the nodes, too.
    "gpu-bind": "--set 'launch.srun_options=[--gpu-bind=VALUE]'",
    "hint": "--set request.hint=nomultithread",
    "job-name": "-J NAME",
    "licenses": "--set request.licenses=NAME",
    "mail-type": "--mail-on begin,end,fail",
    "mail-user": "--mail ADDRESS",
    "mem": "--set request.memory=SIZE",
    "mem-per-cpu": "--set request.memory_per_cpu=SIZE",
    "mem-per-gpu": "--set request.memory_per_gpu=SIZE",
    "nodes": "-N N",
    "output": "--set request.output=FILE",
    **dict.fromkeys(("oversubscribe", "share"), "--shared"),
    "partition": "-p NAME",
    "qos": "--qos NAME",
    "requeue": "--requeue",
    "reservation": "--reservation NAME",
    "signal": "--signal SECONDS",
    "threads-per-core": "--set request.threads_per_core=N",
    "time": "-t TIME",
    "wait": "--wait",
    "wrap": "-- PROGRAM",
}
# Options that contradict every script that jobgen plans.
_PLANNED = (
    *("ntasks", "tasks-per-node", "gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task"),
    *("ntasks-per-gpu", "tres-per-task", "cpus-per-gpu", "mincpus", "export-file", "get-user-env"),
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
    planned = (each for each in (*_PLANNED, *options) if each.startswith(name))
    exact = name in ("export", "wait-all-nodes")  # does not mean --export-file
    if not exact and (first := next(planned, None)):
        hint = f"use {OWN_WORDS[first]}" if first in OWN_WORDS else "leave it out"
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
    if found := re.fullmatch(r"--([a-z][a-z0-9-]*)(?:=(.*))?", text, re.DOTALL):
        return found[1], found[2]
    if (found := re.fullmatch(r"-([A-Za-z]) ?(.*)", text, re.DOTALL)) and found[1] in LONG_NAMES:
        return LONG_NAMES[found[1]], found[2] or None
    example = (
        "such as --constraint=ib"
        if place == "request.directives"
        else ("such as --directive=--constraint=ib")
    )
    raise problem(place, f"{text!r:.80} is not --OPTION or --OPTION=VALUE", "value", example)


def _check_gres(value: str, options: Options, place: str) -> None:
    if found := re.search(r"gpu(?::([A-Za-z][\w.-]*))?(?:[:=](\d+))?", value):
        hint = "use -G" + (f" {found[2]}" if found[2] else "")
        if found[1]:
            hint += f", and --set node.gpu_type={found[1]}"
        raise problem(place, "jobgen requests GPUs itself", "conflict", hint)
    if "gres" in options:
        text, hint = "jobgen sets --gres itself", "--set request.gpu_option=gpus-per-node frees it"
        raise problem(place, text, "conflict", hint)
