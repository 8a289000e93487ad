"""What the user asks for, and the options that say it: one row for each."""

# No `annotations` from __future__: `typing` compiles each annotation of a tuple that is text.
from functools import cache, partial
from typing import NamedTuple

from jobgen.planning.option_row import ALL, BATCH, BYHAND, RANKS, REQUEST, SCRIPT, Option, option

# The options of each heading; most of them have the same commands.
_cluster = partial(option, "Cluster", commands=REQUEST)
_size = partial(option, "Size and time")
_job = partial(option, "Job", commands=BATCH)
_program = partial(option, "Program", commands=RANKS)
_launch = partial(option, "Launch", commands=BATCH)
_other = partial(option, "Other")


class Job(NamedTuple):
    """A command line as text, None where an option is not given. `program` follows the `--`."""

    command: str
    profile: str | None = _cluster(
        "--profile PROFILE|FILE",
        "The cluster: the name of a profile, or a .yaml file.",
        commands=ALL,
    )
    hosts: str | None = _cluster(
        "--hosts LIST|FILE",
        "The hosts: a list such as smc-r07-[07-08], or a file of hosts.",
        commands=BYHAND,
    )
    nodes: str | None = _size(
        "-N --nodes N|MIN:MAX|N+SPARES",
        "Number of nodes. MIN:MAX: the job continues with MIN nodes if others are lost."
        " N+SPARES: more nodes are requested, which replace those that are not ready, or lost.",
        path="request.nodes",
        commands=SCRIPT | REQUEST,
        example="3",
    )
    gpus_per_node: str | None = _size(
        "-G --gpus-per-node N",
        "GPUs on each node.",
        path="request.gpus_per_node",
        example="1",
        label="GPUs on each node",
    )
    time: str | None = _size(
        "-t --time TIME",
        "Walltime: 90m, 24h, 1d12h, 1:30:00; 90 alone is minutes for Slurm, seconds for PBS.",
        path="request.time",
        commands=REQUEST,
        example="1:30:00",
    )
    name: str | None = _job(
        "-J --name NAME",
        "Name of the job.",
        commands=REQUEST,
        example="bert",
        label="Name of the job",
    )
    partition: str | None = _cluster(
        "-p --partition NAME",
        "Slurm's partition.",
        path="partition",
        commands=REQUEST - {"qsub"},
        example="gpu",
    )
    queue: str | None = _cluster(
        "-q --queue NAME",
        "PBS's queue.",
        path="queue",
        commands=REQUEST - {"sbatch"},
        example="gpu",
    )
    account: str | None = _cluster(
        "-A --account NAME", "The account that is charged.", path="account", example="physics"
    )
    qos: str | None = _cluster(
        "--qos NAME",
        "Slurm's quality of service.",
        path="request.qos",
        commands=REQUEST - {"qsub"},
        example="long",
        label="Quality of service",
    )
    reservation: str | None = _cluster(
        "--reservation NAME",
        "The reservation to run in; with PBS, its queue.",
        path="request.reservation",
        example="maint",
    )
    constraint: str | None = _cluster(
        "-C --constraint EXPRESSION",
        "What nodes must have: features for Slurm (ib&a100), NAME=VALUE for PBS.",
        path="request.constraint",
        example={"sbatch": "ib&a100", "qsub": "gpu_model=a100"},
    )
    exclusive: str | None = _cluster(
        "--exclusive", "Whole nodes, shared with no other job.", path="request.exclusive"
    )
    shared: str | None = _cluster(
        "--shared",
        "Other jobs may run on the same nodes.",
        path="request.exclusive",
        flag_value="false",
    )
    array: str | None = _job(
        "--array FIRST-LAST[%N]",
        "One job for each number, N at a time; %a in PROGRAM's arguments is the number.",
        example="0-9%2",
    )
    after: tuple[str, ...] = _job(
        "--after ID[:ok|any|notok]",
        "Start after another job: if it succeeded (ok), failed (notok), or in any case;"
        " repeatable.",
        repeatable=True,
        example="4711",
        label="Start after other jobs",
    )
    mail: str | None = _job(
        "--mail ADDRESS",
        "Send mail about the job to this address.",
        path="request.mail",
        example="me@example.org",
    )
    mail_on: str | None = _job(
        "--mail-on begin,end,fail",
        "When to send mail; the default is when the job ends or fails.",
        path="request.mail_on",
        example="begin,fail",
        label="Send mail when",
    )
    log_folder: str | None = _job(
        "--log-dir FOLDER",
        "Keep what each rank writes there; without it, only after a failure, in jobgen-logs.",
        path="request.log_folder",
        commands=SCRIPT,
        example="/scratch/logs",
        label="Folder for what each rank writes",
    )
    trainer: str | None = _program(
        "--trainer TRAINER",
        "Run a packaged trainer (see `jobgen trainers`).",
        path="trainer",
        label="Or a packaged trainer",
    )
    code: str | None = _program(
        "--code FOLDER",
        "Run a copy of this folder's files, as they are now; what is edited later changes no job.",
        path="software.code",
        commands=SCRIPT,
        label="Folder with the code, which is copied",
    )
    environment: tuple[str, ...] = _program(
        "-e --env K=V|K",
        "Set a variable for every rank ($NAME: the node's), or pass yours on; repeatable.",
        repeatable=True,
        example="NCCL_DEBUG=INFO",
        label="Environment variables",
    )
    set_values: tuple[str, ...] = _other(
        "--set PATH=VALUE",
        "Override a value of the profile; repeatable.",
        repeatable=True,
        example="request.memory=64G",
        label="Values of the profile",
    )
    directives: tuple[str, ...] = _other(
        "--directive OPTION",
        "An option of sbatch or qsub that jobgen does not have; repeatable.",
        repeatable=True,
        commands=REQUEST,
        example={"sbatch": "--nice=100", "qsub": "-p 100"},
    )
    launcher: str | None = _launch(
        "--launcher torchrun|srun|mpiexec|node",
        "What starts the ranks; srun with Slurm, mpiexec with PBS; node: PROGRAM, once on each"
        " node; in its arguments %n is the node's number, %N nodes, %h the head's address, %p a"
        " port, %g processes a node, %G of all nodes.",
        path="launch.launcher",
        commands=SCRIPT,
        example={"sbatch": "srun", "qsub": "torchrun"},
    )
    rendezvous: str | None = _launch(
        "--rendezvous c10d|static",
        "How torchrun's agents meet.",
        path="launch.rendezvous",
        commands=RANKS,
    )
    max_restarts: str | None = _launch(
        "--max-restarts N",
        "How many times failed ranks are started again.",
        path="launch.max_restarts",
        commands=RANKS,
    )
    stall: str | None = _launch(
        "--stall MINUTES",
        "End a job that hangs: no rank has written for so long (30, 2h). Stacks name the rank.",
        path="launch.stall",
        example="30",
        label="End a job that hangs, after minutes",
    )
    requeue: str | None = _launch(
        "--requeue",
        "Requeue the job after a lost node and, with Slurm, at the walltime.",
        path="launch.requeue",
    )
    chain: str | None = _launch(
        "--chain N",
        "Go on in up to N jobs, one after the other, until the training is done.",
        path="launch.chain",
        commands=BATCH,
        example="5",
        label="Jobs that may follow each other",
    )
    signal: str | None = _launch(
        "--signal SECONDS",
        "Send the ranks SIGUSR1 this long before the walltime (300, 5m).",
        path="launch.signal",
        example="300",
        label="Signal before the walltime, seconds",
    )
    plain: str | None = _launch(
        "--plain",
        "The short script: no checks, signals, restarts or clean-up.",
        path="launch.plain",
        label="Plain script",
    )
    template: str | None = _other(
        "--template FILE", "Use this template instead of jobgen's.", commands=RANKS
    )
    program: tuple[str, ...] = ()


# Job declares its Option rows as defaults; replace them by the real defaults. A dataclass, whose
# fields hold such rows, takes longer to make than all imports here.
OPTIONS = {name: row for name, row in Job._field_defaults.items() if isinstance(row, Option)}
Job.__new__.__defaults__ = (*(() if row.repeatable else None for row in OPTIONS.values()), ())
# A field by each spelling of its option.
FIELD_OF_FLAG = {flag: name for name, row in OPTIONS.items() for flag in row.flags}


@cache
def job_options(command: str) -> tuple[tuple[str, Option], ...]:
    """The options of a command that describe its job, with their fields, in order."""
    return tuple((name, row) for name, row in OPTIONS.items() if command in row.commands)
