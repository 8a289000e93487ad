"""What the user asks for, and the command line that asks for the same again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from jobgen.errors import problem

BATCH = frozenset({"sbatch", "qsub"})
REQUEST = BATCH | {"interactive"}
SCRIPT = BATCH | {"local"}
BYHAND = frozenset({"byhand"})
RANKS = SCRIPT | BYHAND
ALL = RANKS | REQUEST

# The headings of --help and of the manual, in their order.
GROUPS = ("Cluster", "Size and time", "Job", "Program", "Launch", "Output", "Anything else")


class Option(NamedTuple):
    """A command-line option: its spellings, what --help says of it, and under which heading.

    One without a metavar takes no value, and says `value`. A metavar names what completion offers
    (PROFILE, TRAINER, FILE …), or lists it in small letters. One with a `path` stands for that
    value of the profile; `commands` are the commands that have it; one that `many` times makes a
    list. The manual shows what `example` changes in a job's directives, with the words `beside` in
    the job anyway, and then the `effect` that these do not show; they may differ by command.
    """

    flags: tuple[str, ...]
    help: str
    group: str
    metavar: str = ""
    path: str = ""
    commands: frozenset[str] = ALL
    many: bool = False
    value: str = "true"
    example: str | Mapping[str, str] = ""
    beside: tuple[str, ...] = ()
    effect: str | Mapping[str, str] = ""


def option(*flags: str, **more: Any) -> Any:
    """A field of Job that is an option."""
    return Option(flags, **more)


class Job(NamedTuple):
    """What a command line says, as text; None where it is silent. `program` follows the `--`."""

    command: str
    profile: str | None = option(
        "--profile",
        metavar="PROFILE|FILE",
        help="The cluster: a profile's name, or a .yaml file.",
        group="Cluster",
        effect="the whole script",
    )
    hosts: str | None = option(
        "--hosts",
        metavar="LIST|FILE",
        help="The hosts, as smc-r07-[07-08] or as a file of them.",
        commands=BYHAND,
        group="Cluster",
    )
    nodes: str | None = option(
        *("-N", "--nodes"),
        metavar="N|MIN:MAX",
        help="Number of nodes; MIN:MAX goes on with MIN if others are lost.",
        path="request.nodes",
        commands=SCRIPT | REQUEST,
        group="Size and time",
        example="3",
        effect={"qsub": "one number only"},
    )
    gpus_per_node: str | None = option(
        *("-G", "--gpus-per-node"),
        metavar="N",
        help="GPUs on each node.",
        path="request.gpus_per_node",
        group="Size and time",
        example="1",
    )
    time: str | None = option(
        *("-t", "--time"),
        metavar="TIME",
        help="Walltime: 1:30:00, 2-12:00:00; 90 is minutes to Slurm, seconds to PBS.",
        path="request.time",
        commands=REQUEST,
        group="Size and time",
        example="1:30:00",
    )
    name: str | None = option(
        *("-J", "--name"),
        metavar="NAME",
        help="Name of the job.",
        commands=REQUEST,
        group="Job",
        example="bert",
    )
    partition: str | None = option(
        *("-p", "--partition"),
        metavar="NAME",
        help="Slurm's partition.",
        path="partition",
        commands=REQUEST - {"qsub"},
        group="Cluster",
        example="gpu",
    )
    queue: str | None = option(
        *("-q", "--queue"),
        metavar="NAME",
        help="PBS's queue.",
        path="queue",
        commands=REQUEST - {"sbatch"},
        group="Cluster",
        example="gpu",
    )
    account: str | None = option(
        *("-A", "--account"),
        metavar="NAME",
        help="The account that pays.",
        path="account",
        commands=REQUEST,
        group="Cluster",
        example="physics",
    )
    qos: str | None = option(
        "--qos",
        metavar="NAME",
        help="Slurm's quality of service.",
        path="request.qos",
        commands=REQUEST - {"qsub"},
        group="Cluster",
        example="long",
    )
    reservation: str | None = option(
        "--reservation",
        metavar="NAME",
        help="Nodes that are reserved: with PBS, the reservation's queue.",
        path="request.reservation",
        commands=REQUEST,
        group="Cluster",
        example="maint",
    )
    constraint: str | None = option(
        *("-C", "--constraint"),
        metavar="EXPRESSION",
        help="What nodes must have: features to Slurm (ib&a100), NAME=VALUE to PBS.",
        path="request.constraint",
        commands=REQUEST,
        group="Cluster",
        example={"sbatch": "ib&a100", "qsub": "gpu_model=a100"},
    )
    exclusive: str | None = option(
        "--exclusive",
        help="Whole nodes, shared with no other job.",
        path="request.exclusive",
        commands=REQUEST,
        group="Cluster",
    )
    shared: str | None = option(
        "--shared",
        help="Other jobs may run on the same nodes.",
        path="request.exclusive",
        commands=REQUEST,
        value="false",
        group="Cluster",
        beside=("--set=request.exclusive=true",),
    )
    array: str | None = option(
        "--array",
        metavar="FIRST-LAST[%N]",
        help="One job for each number, N at a time; %a in PROGRAM's arguments is the number.",
        commands=BATCH,
        group="Job",
        example="0-9%2",
    )
    after: tuple[str, ...] = option(
        "--after",
        metavar="ID[:ok|any|notok]",
        help="Begin when another job has ended: well (ok), anyhow, or not well; repeatable.",
        many=True,
        commands=BATCH,
        group="Job",
        example="4711",
    )
    mail: str | None = option(
        "--mail",
        metavar="ADDRESS",
        help="Who gets mail about the job.",
        path="request.mail",
        commands=BATCH,
        group="Job",
        example="me@example.org",
    )
    mail_on: str | None = option(
        "--mail-on",
        metavar="begin,end,fail",
        help="When mail is sent; without it, when the job ends or fails.",
        path="request.mail_on",
        commands=BATCH,
        group="Job",
        example="begin,fail",
        beside=("--mail=me@example.org",),
    )
    trainer: str | None = option(
        "--trainer",
        metavar="TRAINER",
        help="A packaged trainer (`jobgen trainers`).",
        path="trainer",
        commands=RANKS,
        group="Program",
        effect="in the script",
    )
    environment: tuple[str, ...] = option(
        *("-e", "--env"),
        metavar="K=V",
        help="A variable for every rank; repeatable.",
        many=True,
        commands=RANKS,
        group="Program",
        example="NCCL_DEBUG=INFO",
        effect="exported",
    )
    sets: tuple[str, ...] = option(
        "--set",
        metavar="PATH=VALUE",
        help="A value of the profile; repeatable.",
        many=True,
        group="Anything else",
        example="request.memory=64G",
    )
    directives: tuple[str, ...] = option(
        "--directive",
        metavar="OPTION",
        help="An option of the scheduler's own that jobgen does not know; repeatable.",
        many=True,
        commands=REQUEST,
        group="Anything else",
        example={"sbatch": "--nice=100", "qsub": "-p 100"},
    )
    launcher: str | None = option(
        "--launcher",
        metavar="torchrun|srun",
        help="What starts the ranks.",
        path="launch.launcher",
        commands=frozenset({"sbatch"}),
        group="Launch",
        example="srun",
    )
    rendezvous: str | None = option(
        "--rendezvous",
        metavar="c10d|static",
        help="How torchrun's agents meet.",
        path="launch.rendezvous",
        commands=RANKS,
        group="Launch",
        effect="in the script",
    )
    max_restarts: str | None = option(
        "--max-restarts",
        metavar="N",
        help="How often failed ranks are started again.",
        path="launch.max_restarts",
        commands=RANKS,
        group="Launch",
        effect="in the script",
    )
    requeue: str | None = option(
        "--requeue",
        help="Go on in the queue: after a lost node and, with Slurm, at the walltime.",
        path="launch.requeue",
        commands=BATCH,
        group="Launch",
        effect={"sbatch": "`scontrol requeue` at the walltime"},
    )
    signal: str | None = option(
        "--signal",
        metavar="SECONDS",
        help="Send the ranks SIGUSR1 so long before the walltime.",
        path="launch.signal",
        commands=BATCH,
        group="Launch",
        example="300",
        effect={"qsub": "the script keeps time"},
    )
    template: str | None = option(
        "--template",
        metavar="FILE",
        help="A template instead of jobgen's own.",
        commands=RANKS,
        group="Anything else",
        effect="the whole script",
    )
    program: tuple[str, ...] = ()


# The rows stood where defaults do; a dataclass takes longer to make than all other imports here.
OPTIONS = {name: row for name, row in Job._field_defaults.items() if isinstance(row, Option)}
Job.__new__.__defaults__ = (*(() if row.many else None for row in OPTIONS.values()), ())


# Options for what jobgen does with a script: these are no fields of Job, and change no script.
DOING = {
    "output": Option(
        ("-o", "--output"),
        metavar="FILE",
        help="Write to FILE, at once and executable.",
        commands=RANKS,
        group="Output",
    ),
    "submit": Option(
        ("--submit",),
        help="Submit the script, and print the job's id instead of it.",
        commands=BATCH,
        group="Output",
        effect={"sbatch": "`sbatch`", "qsub": "`qsub`"},
    ),
    "wait": Option(
        ("--wait",),
        help="Submit, follow the job on stderr, and exit as it does.",
        commands=BATCH,
        group="Output",
        effect={"sbatch": "`scontrol show job`", "qsub": "`qstat -f`, `qsub -W block=true`"},
    ),
    "mkdir": Option(
        ("--mkdir",),
        help="Make the folder of the job's output, here and now.",
        commands=BATCH,
        group="Output",
    ),
}


@cache
def options(command: str) -> tuple[tuple[str, Option], ...]:
    """The options of a command, with the names of their fields, in their order."""
    return tuple((name, row) for name, row in OPTIONS.items() if command in row.commands)


def doing(command: str) -> dict[str, Option]:
    """The options for what a command does with its script."""
    return {name: row for name, row in DOING.items() if command in row.commands}


def layers(job: Job, hosts: int = 0) -> Iterator[tuple[str, str, str]]:
    """What the options say of the profile: (option, path, value), the strongest last.

    `hosts` is how many --hosts names, where that is asked for.
    """
    for text in job.sets:
        path, equals, value = text.partition("=")
        if not equals or not path:
            hint = "such as network.interface=hsn0"
            raise problem("--set", f"{text!r:.80} is not PATH=VALUE", "usage", hint)
        yield f"--set {path:.80}", path, value
    if job.queue and job.reservation:
        hint = "a reservation of PBS's is a queue: say one"
        raise problem("--reservation", "the job goes to the queue -q names", "conflict", hint)
    if job.exclusive and job.shared:
        raise problem("--shared", "the nodes cannot be --exclusive, too", "conflict", "say one")
    for name, row in options(job.command):
        value = getattr(job, name)
        if name == "gpus_per_node" and value and re.search("[,:]", value):
            text = f"{value!r:.40}: every node of a job has the same number of GPUs"
            raise problem(row.flags[0], text, "value", "one number, or a job for each kind of node")
        if row.path == "request.nodes" and value is not None and ":" in value:
            least, _, value = value.partition(":")
            yield row.flags[0], "request.min_nodes", least
        if row.path and value is not None:
            yield row.flags[0], row.path, value
    if hosts:
        yield "--hosts", "request.nodes", str(hosts)


def command_line(job: Job) -> list[str]:
    """The words of the command that makes this job's script, in one fixed spelling and order."""
    words = ["jobgen", job.command]
    for name, row in options(job.command):
        value = getattr(job, name)
        if value is None or value == ():
            continue
        if not row.metavar:
            words += [row.flags[0]] if value else []
            continue
        for text in value if row.many else [value]:
            # A value that begins with - would be taken for an option.
            dashed = text.startswith("-")
            words += [f"{row.flags[-1]}={text}"] if dashed else [row.flags[0], text]
    return [*words, "--", *job.program] if job.program else words


def asked(words: Sequence[str]) -> Job:
    """The job that a command asks for, by the words that follow `jobgen`: nothing is done.

    It is read as the command line is, without the options that do something with a script; click's
    own parser would take as long as the script itself. Raises JobgenError for anything else.
    """
    command, *more = words or ("",)
    if command not in RANKS:
        hint = f"one of: {', '.join(sorted(RANKS))}"
        raise problem(f"jobgen {command:.80}", "no command that makes a script", "usage", hint)
    said: dict[str, Any] = {}
    rest = iter(more)
    for word in rest:
        if word == "--" or not word.startswith("-") or word == "-":
            said["program"] = (*([] if word == "--" else [word]), *rest)
            break
        name, row, value = _option(command, word)
        if value is None and row.metavar:
            value = next(rest, None)
        if (value is None) == bool(row.metavar):
            what = "lacks its value" if row.metavar else "takes no value"
            raise problem(f"jobgen {command}", f"{word:.80} {what}", "usage")
        value = row.value if value is None else value
        if row.many:
            said.setdefault(name, []).append(value)
        else:
            said[name] = value
    lists = {name: tuple(value) for name, value in said.items() if isinstance(value, list)}
    return Job(command, **{**said, **lists})


def _option(command: str, word: str) -> tuple[str, Option, str | None]:
    """The option that a word says, with its field, and its value if that is in the same word."""
    if word.startswith("--"):
        flag, equals, value = word.partition("=")
    else:
        flag, equals, value = word[:2], word[2:], word[2:]
    for name, row in options(command):
        if flag in row.flags:
            return name, row, value if equals else None
    raise problem(f"jobgen {command}", f"no option {flag:.80} of a script's", "usage")
