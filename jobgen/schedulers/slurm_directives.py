"""Options of sbatch: the options of a plan, and the form in which Slurm takes their values.

Each form of a request for GPUs was tried on Slurm 22.05 with 8 GPUs on a node
(docs/profiles.md).
"""

import re
from typing import Any

from jobgen.errors import problem
from jobgen.planning.plan import Plan, Request
from jobgen.profiles.units import seconds_of
from jobgen.schedulers import after_hint, checked_visible

Options = dict[str, str | int | bool]

_PLAIN = re.compile(r"[A-Za-z0-9_.,:/@%+=^\[\]*&|-]+")

_TIME = re.compile(r"(?:(\d+)-)?(\d+(?::\d+){,2})", re.ASCII)
_LONGEST_TIME = 24855 * 86400
# The most bytes of a value that slurmctld takes (src/slurmctld/job_mgr.c, `_validate_job_desc`).
_LONGEST = {
    **dict.fromkeys(
        "account comment constraint job-name licenses mail-user partition prefer qos reservation"
        " wckey".split(),
        1024,
    ),
    **dict.fromkeys(("array", "error", "input", "output"), 4096),
}
# sbatch takes a line that has one of these words for a separator of jobs (src/sbatch/opt.c).
SEPARATOR = re.compile("packjob|hetjob", re.IGNORECASE)


def check_value(name: str, value: str, place: str) -> None:
    """Raise JobgenError for an option's value, set at `place`, that sbatch would not take."""
    size, most = len(value.encode("utf-8", "surrogateescape")), _LONGEST.get(name, 1 << 16)
    if size > most:
        raise problem(place, f"--{name} has {size} bytes", "limit", f"Slurm takes {most}")
    if found := SEPARATOR.search(value):
        text = f"{value!r:.80} has `{found[0]}` in it, which sbatch takes for a separator of jobs"
        raise problem(place, text, "value", "choose another")
    checked_visible(value, place)


# The options of sbatch that salloc does not have (tried with 22.05).
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
# Options that do not belong in a script that others submit, with what to do instead.
ON_COMMAND_LINE = {
    "workdir": "use --set request.chdir=FOLDER",
    **dict.fromkeys(("uid", "gid"), "submit as that user"),
    **dict.fromkeys(
        ("test-only", "parsable", "help", "usage", "version"), "use it on sbatch's own command line"
    ),
}


_OF_REQUEST = "partition account qos reservation constraint licenses exclude".split()


def planned_options(plan: Plan) -> Options:
    """Returns the options of sbatch for a plan, in the order in which they are written."""
    request, launch = plan.request, plan.launch
    least = f"{request.min_nodes}-" if plan.elastic else ""
    options: dict[str, Any] = {
        "job-name": plan.name,
        **{name: getattr(request, name) for name in _OF_REQUEST},
        "nodes": f"{least}{request.nodes + request.spares}",
        "segment": request.segment,
        "no-kill": plan.elastic or plan.replaces,
        # With this option, Slurm would count the tasks of the fewest nodes, and give no more nodes.
        "ntasks-per-node": None if plan.elastic else request.tasks_per_node,
        "cpus-per-task": request.cpus_per_task,
        "threads-per-core": request.threads_per_core,
        "hint": request.hint,
        **gpu_options(request, plan.node.gpu_type),
        "exclusive": request.exclusive,
        "mem": "0" if request.memory == "all" else request.memory,
        "mem-per-cpu": request.memory_per_cpu,
        "mem-per-gpu": request.memory_per_gpu,
        "time": clock(request.time),
        "signal": launch.signal and f"B:USR1@{launch.signal}",
        "requeue": "expedite" if launch.expedite else launch.requeue,
        "open-mode": "append" if launch.requeue or launch.chain else None,
        "chdir": request.chdir,
        **{name: _output(getattr(request, name), plan) for name in ("output", "error")},
        "array": array(request.array),
        "dependency": ",".join(map(after, request.after)) or None,
        # Without this option, a job waits for ever for a job that did not end as it must.
        "kill-on-invalid-dep": "yes" if request.after else None,
        "mail-user": request.mail,
        "mail-type": ",".join(request.mail_on).upper() or None,
    }
    return {name: value for name, value in options.items() if value not in (None, False)}


def quoted(value: str) -> str:
    r"""Returns a value, quoted for sbatch: in double quotes, in which \ escapes any character.

    Nothing else is special inside these quotes (src/sbatch/opt.c, `_get_argument`).
    """
    if _PLAIN.fullmatch(value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def patterns(path: str) -> list[str]:
    r"""Returns Slurm's patterns in a path, except %%; none if there is a \, which Slurm removes."""
    found = [] if "\\" in path else re.findall("%%|%[0-9]*[a-zA-Z]", path)
    return [pattern for pattern in found if pattern != "%%"]


def _output(path: str | None, plan: Plan) -> str | None:
    """Returns a file's name; in a chain, by the array and the job's place: %j is any number."""
    if not path or not plan.launch.chain or "%j" not in patterns(path):
        return path
    return re.sub("%%|%j", lambda found: found[0].replace("%j", "%A_%a"), path)


def check_array_output(place: str, path: str) -> None:
    """Raise JobgenError for a file that all jobs of an array would write."""
    if path != "/dev/null" and not re.search("[ajJ]", "".join(patterns(path))):
        text = f"all jobs of the array would write {path!r:.60}"
        raise problem(place, text, "conflict", "use %a or %j in it")


def array(text: str | None) -> str | None:
    """Returns the value of --array. Raises JobgenError for a text that is no array of Slurm."""
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


def after(text: str) -> str:
    """Returns the dependency on a job, or on a job of an array (123_4); else raises JobgenError."""
    found = re.fullmatch(r"(\d{1,10}(?:_\d{1,10})?)(?::(ok|any|notok))?", text, re.ASCII)
    if not found:
        hint = after_hint(text, "ID[:ok|any|notok], such as 123 or 123_4:any", r"\d+(_\d+)?")
        if re.match("singleton|aftercorr|after:|afterburst", text):
            hint = f"write --directive=--dependency={text}"
        raise problem("--after", f"{text!r:.40} is not a job of Slurm", "value", hint)
    if any(int(number) >= 1 << 32 for number in found[1].split("_")):
        raise problem("--after", f"{text!r:.40} is not a job of Slurm", "limit", "32 bits at most")
    return f"after{found[2] or 'ok'}:{found[1]}"


def seconds(walltime: str) -> int | None:
    """Returns the seconds of a walltime as sbatch reads it, or with units, such as 24h.

    sbatch counts seconds in 31 bits, and reads 24856 days as a different time (22.05, measured).
    """
    length = seconds_of(walltime)
    if length is None and len(walltime) <= 20:
        length = _sbatch_seconds(walltime)
    return length if length is not None and length <= _LONGEST_TIME else None


def _sbatch_seconds(walltime: str) -> int | None:
    """Seconds of M, M:S, H:M:S, D-H, D-H:M or D-H:M:S (sbatch(1), --time): `90` is 90 minutes."""
    found = _TIME.fullmatch(walltime)
    if not found:
        return None
    numbers = [*map(int, found[2].split(":"))]
    units = (3600, 60, 1) if found[1] or len(numbers) == 3 else (60, 1)
    return int(found[1] or 0) * 86400 + sum(
        n * unit for n, unit in zip(numbers, units, strict=False)
    )


def clock(seconds: int | None) -> str | None:
    """Returns a walltime as [D-]HH:MM:SS."""
    if seconds is None:
        return None
    days, rest = divmod(seconds, 86400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{clock}" if days else clock


def gpu_options(request: Request, gpu_type: str | None) -> dict[str, str]:
    """Returns the options of sbatch that request the GPUs of a job.

    Raises JobgenError for GPUs that cannot be requested in the site's form.
    """
    gpus, option = request.gpus_per_node, request.gpu_option
    if not gpus:
        return {}
    if option == "gpus":
        _check_number_of_nodes(request)
    of_task = _gpus_per_task(request) if option == "gpus-per-task" else 0
    of_job = gpus * (request.nodes + request.spares)
    return gpu_texts(option, gpu_type, gpus, of_job, of_task, request.nodes > 1)


def gpu_texts(
    option: str | None,
    gpu_type: str | None,
    of_node: int,
    of_job: int | str,
    of_task: int | str,
    has_several_nodes: bool,
) -> dict[str, str]:
    """Returns the options for so many GPUs of a node, of the whole job and of a task.

    `option` is the profile's request.gpu_option; the options have no dashes.
    """
    match option:
        case "none":
            return {}
        case "gpus-per-node":
            return {"gpus-per-node": _typed(gpu_type, of_node)}
        case "gpus-per-task":
            return {"gpus-per-task": _typed(gpu_type, of_task)}
        case "gpus":
            # With --gpus=8 alone, Slurm 22.05 gives 7 GPUs on one node and 1 on the other.
            even = {"gpus-per-node": _typed(gpu_type, of_node)} if has_several_nodes else {}
            return {"gpus": _typed(gpu_type, of_job), **even}
        case _:
            return {"gres": f"gpu:{_typed(gpu_type, of_node)}"}


def step_gpus(request: Request, gpu_type: str | None) -> tuple[str, ...]:
    """Returns the option of each step, if the job's own option gives steps a wrong number of GPUs.

    With --gpus-per-task=1, the check of a node, which is one task, would see one GPU; each rank
    would see only its own GPU, while NCCL copies directly between GPUs that a rank sees.
    """
    several_tasks = request.gpu_option == "gpus-per-task" and request.tasks_per_node > 1
    if request.gpus_per_node and (several_tasks or request.gpu_option == "gpus"):
        return (f"--gpus-per-node={_typed(gpu_type, request.gpus_per_node)}",)
    return ()


def _typed(gpu_type: str | None, gpus: int | str) -> str:
    return f"{gpu_type}:{gpus}" if gpu_type else str(gpus)


def _gpus_per_task(request: Request) -> int:
    _check_number_of_nodes(request)
    each, rest = divmod(request.gpus_per_node, request.tasks_per_node)
    if rest or not each:
        text = f"{request.gpus_per_node} GPUs for {request.tasks_per_node} tasks on each node"
        hint = "--set request.gpu_option=gpus-per-node, or another number of ranks"
        raise problem("request.gpu_option", text, "conflict", hint)
    return each


def _check_number_of_nodes(request: Request) -> None:
    if request.min_nodes < request.nodes:
        numbers = f"{request.min_nodes} to {request.nodes}"
        text = f"`{request.gpu_option}` needs one number of nodes, not {numbers}"
        hint = "--set request.gpu_option=gpus-per-node"
        raise problem("request.gpu_option", text, "conflict", hint)
