"""PBS (OpenPBS, PBS Professional): its directives, their quoting and their limits.

The rules are from the source of PBS (src/cmds/qsub.c, src/lib/Libcmds); tried on OpenPBS 23.
"""

import re

from jobgen.errors import problem
from jobgen.planning.plan import Plan
from jobgen.profiles.model import Profile
from jobgen.profiles.units import seconds_of
from jobgen.quoting import quote
from jobgen.schedulers import ONE_NODE_EACH, Note, Scheduler, after_hint, checked_visible
from jobgen.schedulers.mpiexec import MPIEXEC, binding_problem
from jobgen.schedulers.pbs_resources import requested
from jobgen.schedulers.pbs_user_options import own_options, with_one_list

LONGEST_LINE = 4094  # bytes, with the end of the line

_TIME = re.compile(r"(?:(\d+)-(?=\d+:\d+:))?(\d+(?::\d+){,2})", re.ASCII)
_PLAIN = re.compile(r"[A-Za-z0-9_.,:/@%+=^\[\]*&|~#-]+")
_PLANNED_MPIEXEC = "-n -np --np -N --ppn -ppn --npernode -f --hostfile -machinefile --hosts".split()
_MAIL = {"begin": "b", "end": "e", "fail": "a"}


def seconds(walltime: str) -> int | None:
    """Seconds of S, M:S or H:M:S as PBS reads them (`90` is 90 seconds), of D-H:M:S or of 24h."""
    length = seconds_of(walltime)
    if length is not None:
        return length
    found = _TIME.fullmatch(walltime)
    if not found or len(walltime) > 20:
        return None
    numbers = [*map(int, found[2].split(":"))]
    units = (3600, 60, 1)[-len(numbers) :]
    return int(found[1] or 0) * 86400 + sum(
        n * unit for n, unit in zip(numbers, units, strict=True)
    )


def directives(plan: Plan) -> tuple[str, ...]:
    """The #PBS lines, in one fixed order; the user's own come last."""
    output_folder(plan)  # raises JobgenError if nobody can create the folder
    request = plan.request
    values = (
        # One file has both streams, in their order, unless the errors have a file of their own.
        ("-j", "" if request.error else "oe"),
        ("-k", "doe" * request.live_output),
        ("-o", _file(plan, "output")),
        ("-e", _file(plan, "error")),
        ("-r", "y" * plan.launch.requeue),
        # The job goes on without nodes that fail.
        ("-W", "tolerate_node_failures=all" * (request.spares > 0)),
        ("-v", ",".join(plan.software.submitted)),  # names alone: qsub adds the values that it sees
        ("-J", array(request.array)),
        ("-W", depend(request.after)),
        ("-M", request.mail),
        ("-m", "".join(_MAIL[word] for word in request.mail_on)),
    )
    planned = [(flag, checked_visible(value, flag)) for flag, value in values if value]
    options = [("-N", plan.name), *requested(plan), *planned, *own_options(plan)]
    lines = tuple(f"#PBS {flag} {quoted(value)}".rstrip() for flag, value in with_one_list(options))
    _check_length("the command", f"#   {' '.join(map(quote, plan.command))}")
    for line in lines:
        _check_length(line.split(" ")[1], line)
    return lines


def _check_length(place: str, line: str) -> None:
    """Raise JobgenError for a line that qsub would read as several (qsub.c, `get_script`).

    Up to version 19, qsub reads pieces of 4094 bytes. If a piece of a longer comment, such as the
    command in the header, begins with #PBS, qsub takes it for a directive. Any other piece is the
    first command for qsub, after which it reads no directive.
    """
    if (size := len(line.encode("utf-8", "surrogateescape")) + 1) > LONGEST_LINE:
        text = f"it makes a line of {size} bytes"
        hint = f"PBS reads {LONGEST_LINE}: put the rest into a file"
        raise problem(place, text, "limit", hint)


def output_folder(plan: Plan) -> str:
    """Returns the output's folder; raises JobgenError for ^array_index^, which PBS replaces."""
    folder = (plan.request.output or "").rpartition("/")[0]
    if "^array_index^" in folder:
        text = "the output's folder has ^array_index^ in it, and PBS creates no folder"
        raise problem("request.output", text, "value", "use it in the file's name only")
    return folder


def lost_without_folder(plan: Plan) -> str:
    """Returns the loss of live output: PBS opens its file before the script creates the folder."""
    text = f"live output goes to {output_folder(plan)}, or PBS holds the job"
    return text if plan.request.live_output else ""


def interactive(plan: Plan) -> tuple[str, ...]:
    """Returns the words of `qsub -I` with the requests of the directives."""
    name = [("-N", plan.name)] if plan.has_own_name else []
    pairs = with_one_list([*name, *requested(plan), *own_options(plan)])
    return ("qsub", "-I", *(word for pair in pairs for word in pair if word))


def starter_conflicts(profile: Profile, starter: str, note: Note) -> None:
    """Note the values that the starter, an mpiexec or another one, does not support."""
    launch = profile.launch
    if profile.request.spares and starter in MPIEXEC:
        text = "an mpiexec ends all nodes when it loses one"
        hint = f"--set launch.starter={ONE_NODE_EACH[0]} (or {', '.join(ONE_NODE_EACH[1:])})"
        note("request.spares", text, hint)
    if launch.launcher != "mpiexec":
        if launch.mpiexec_options:
            hint = "the launcher mpiexec, or --set launch.mpiexec_options=null"
            note("launch.mpiexec_options", "no mpiexec starts the ranks", hint)
        if launch.cpu_bind:
            text = f"PBS binds nothing to cores, and the launcher {launch.launcher} neither"
            hint = "the launcher mpiexec, or --set launch.cpu_bind=null"
            note("launch.cpu_bind", text, hint)
        return
    if starter not in MPIEXEC:
        text = f"the launcher mpiexec needs an mpiexec as its starter, not {starter}"
        note("launch.starter", text, f"one of: {', '.join(MPIEXEC)}")
    elif launch.cpu_bind:
        found = binding_problem(starter, launch.cpu_bind, profile.node.cpus)
        if found:
            note("launch.cpu_bind", *found)
    for option in launch.mpiexec_options:
        if option in _PLANNED_MPIEXEC:
            hint = "-N, or --set launch.processes_per_node=N"
            note("launch.mpiexec_options", f"jobgen sets {option} itself", hint)
    if launch.plain and starter == "mpiexec-mpich":
        text = (
            "if a rank fails, the mpiexec of MPICH, and so the plain script, waits for the others"
        )
        note("launch.plain", text, "remove --plain (launch.plain)")
    if launch.rendezvous == "static":
        text = "the ranks of mpiexec meet at MASTER_ADDR, without a rendezvous of torchrun"
        note("launch.rendezvous", text, "leave it out, or use the launcher torchrun")


def _file(plan: Plan, stream: str) -> str:
    """Returns the file of the stream `output` or `error`, or "" if no file is named."""
    place, path = f"request.{stream}", getattr(plan.request, stream) or ""
    separate = "^array_index^" in path or path.endswith("/") or path == "/dev/null"
    if plan.request.array and path and not separate:
        text = f"all jobs of the array would write {path!r:.60}"
        raise problem(place, text, "conflict", "use ^array_index^ in it")
    if ":" in path:
        text = f"{path!r:.80} has a `:` in it, and PBS takes what is before it for a host"
        raise problem(place, text, "value", "choose another")
    if found := re.search(r"\$\{?\w+|%[a-zA-Z]", path):
        folder = quote(f"{path[: found.start()].rpartition('/')[0] or 'logs'}/")
        hint = (
            f"write a folder, {folder}, which gets a file JOBID.OU; only ^array_index^ is replaced"
        )
        raise problem(place, f"PBS does not replace `{found[0]}`", "value", hint)
    return checked_visible(path, place)


def quoted(value: str) -> str:
    r"""Returns a value, quoted for qsub (qsub.c, `make_argv`).

    Inside quotes of either kind, only the closing quote is special; outside, \ escapes.
    """
    if not value or _PLAIN.fullmatch(value):
        return value
    pieces = re.findall(r"[^\"]+|\"+", value)
    return "".join(f"'{text}'" if text[0] == '"' else f'"{text}"' for text in pieces)


def array(text: str | None) -> str | None:
    """Returns the value of -J. Raises JobgenError for a text that is no array of PBS."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,9})-(\d{1,9})(?::[1-9]\d*)?(?:%[1-9]\d*)?", text, re.ASCII)
    if not found or int(found[1]) >= int(found[2]):
        hint = "FIRST-LAST[:STEP][%AT_ONCE], the last greater than the first, such as 0-9%2"
        raise problem("--array", f"PBS takes no array {text!r:.40}", "value", hint)
    return text


def depend(jobs: tuple[str, ...]) -> str:
    """Returns the value of -W for a job that waits for other jobs (qsub(1B), depend)."""
    kinds: dict[str, list[str]] = {}
    for text in jobs:
        found = re.fullmatch(
            r"(\d+(?:\[\d*\])?(?:\.[A-Za-z0-9.-]+)?)(?::(ok|any|notok))?", text, re.ASCII
        )
        if not found:
            hint = "ID[:ok|any|notok], such as 123, 123.server or 123[]:any"
            hint = after_hint(text, hint, r"\d+(\[\d*\])?(\.[A-Za-z0-9.-]+)?")
            raise problem("--after", f"{text!r:.40} is not a job of PBS", "value", hint)
        kinds.setdefault(found[2] or "ok", []).append(found[1])
    joined = ",".join(f"after{kind}:{':'.join(ids)}" for kind, ids in kinds.items())
    return f"depend={joined}" if joined else ""


SCHEDULER = Scheduler(
    template="qsub.sh.j2",
    launchers=("torchrun", "mpiexec", "node"),
    name_rule=r"[A-Za-z0-9_+.-]{1,230}",  # ck_job_name.c; PBS_MAXJOBNAME is 230
    name_rule_in_words="PBS takes up to 230 letters, digits and _ + . -",
    time_rule_in_words="write 90m, 24h, 1d12h, seconds (5400), H:MM:SS (1:30:00) or D-HH:MM:SS"
    " (2-12:00:00)",
    directives=directives,
    interactive=interactive,
    seconds=seconds,
    output_folder=output_folder,
    lost_without_folder=lost_without_folder,
    starter_conflicts=starter_conflicts,
    starters=("pbs_tmrsh", "pbsdsh", "ssh", *MPIEXEC),
    gpu_options=("ngpus", "gpus", "none"),
    variables=tuple(
        "PBS_JOBID PBS_JOBNAME PBS_QUEUE PBS_O_WORKDIR PBS_NODENUM PBS_ARRAY_INDEX".split()
    ),
    array_index="PBS_ARRAY_INDEX",
    kill_delay=10,  # the default of a queue (pbs_queue_attributes(7B), kill_delay)
)
