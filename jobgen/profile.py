"""What a cluster is: the frozen Profile, one row a field."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter

from jobgen.errors import Mark, Problem
from jobgen.program import LONGEST_WORDS
from jobgen.schema import CONTROLS, Bool, Choice, Int, ListOf, MapOf, Record, Text, Walltime, row

RESOURCE = Text("[A-Za-z][A-Za-z0-9_]*", "a resource's name: letters, digits and _")
NAME = Text(r"[A-Za-z0-9_][A-Za-z0-9_.+@%-]*", "a name of letters, digits and _ . + @ % -")
WORD = Text(f"[^ {CONTROLS}-][^ {CONTROLS}]*", "text without blanks, not beginning with -")
LINE = Text()
PATH = Text(f"[^{CONTROLS}]+", "a path; $NAME in it is the node's variable")
# One that stands in a list of them, such as PATH, or in a mount.
LISTED = Text(f"[^{CONTROLS}:]+", "a path without `:`; $NAME in it is the node's variable")
# What bash would not let a script set or keeps for itself (some of it is arithmetic to bash, which
# runs commands: `export RANDOM='x[$(id)]'`), what would change how the scripts themselves are read,
# what a shell that lines are pasted into runs at its prompt, what the scheduler and the launchers
# set, and the scripts' own names (`tests/test_golden.py` compares them); see `reserved`, too.
RESERVED = frozenset(
    """
    CDPATH DIRSTACK EPOCHREALTIME EPOCHSECONDS EUID EXECIGNORE FUNCNAME FUNCNEST GLOBIGNORE
    GROUP_RANK GROUP_WORLD_SIZE GROUPS HISTCMD IFS LINENO MAILPATH OPTIND PIPESTATUS POSIXLY_CORRECT
    PPID RANDOM SECONDS SHELLOPTS SRANDOM TMOUT UID _ PROMPT_COMMAND PS0 PS1 PS2 PS4 PWD OLDPWD
    histchars LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT RANK ROLE_NAME ROLE_RANK
    ROLE_WORLD_SIZE TORCHELASTIC_ERROR_FILE TORCHELASTIC_MAX_RESTARTS TORCHELASTIC_RESTART_COUNT
    TORCHELASTIC_RUN_ID TORCHELASTIC_USE_AGENT_STORE WORLD_SIZE SLURM_ARRAY_TASK_ID SLURM_JOB_ID
    SLURM_JOB_NAME SLURM_JOB_NODELIST SLURM_JOB_NUM_NODES SLURM_LOCALID SLURM_NNODES SLURM_NODEID
    SLURM_NTASKS SLURM_PROCID SLURMD_NODENAME agent answer code ended failed fetched found guard
    hosts interface killed late limit lines listens lives missed mounts moved name names on_each
    on_each_node own patience pid pids rank ranks starters status step sweeper task tick told verbs
    waited warned
    """.split()
)
VARIABLE = Text("[A-Za-z_][A-Za-z0-9_]*", "a variable's name: letters, digits and _")
# Slurm keeps nodes in 32 bits and cores in 16, two of whose values have a meaning of their
# own (slurm.h, NO_VAL16), and takes a greater number for what is left of it.
NODES = Int(1, 1 << 20)
CPUS = Int(1, (1 << 16) - 3)
SIZE = "[1-9][0-9]{0,8}[KMGT]"  # Slurm takes a greater one for what is left of it in 64 bits
INTERFACE = Text("[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}", "a network interface's name, such as hsn0")


@dataclass(frozen=True)
class Limits:
    """The most that one job gets. Unset: not known, not checked."""

    nodes: int | None = row(NODES, "The most nodes of one job.")
    gpus_per_node: int | None = row(Int(0, 64), "The most GPUs on a node; unset: node.gpus.")
    time: str | None = row(Walltime(), "The longest walltime.")


@dataclass(frozen=True)
class Node:
    """One compute node."""

    cpus: int | None = row(
        CPUS,
        "Cores of a node, as the scheduler counts them (`sinfo -o %c`, `pbsnodes`); a job gets all "
        "of an exclusive one, else its GPUs' share, or one a rank.",
    )
    gpus: int = row(Int(0, 64), "GPUs of a node.", 0)
    gpu: str = row(
        Choice("nvidia", "amd", "none"),
        "Whose GPUs. `none`: what is asked for stays the same, but the ranks run on the CPU.",
        "none",
    )
    memory: str | None = row(Text(SIZE, "a size, such as 512G"), "Memory of a node.")
    arch: str | None = row(
        Choice("x86_64", "aarch64", "ppc64le"), "What `uname -m` says there; checked if set."
    )


@dataclass(frozen=True)
class Request:
    """How this site wants a job to be asked for."""

    nodes: int = row(NODES, "Nodes, when the user does not say -N.", 1)
    min_nodes: int | None = row(
        NODES,
        "As few nodes as a job may start with, or go on with when others are lost; unset: all.",
    )
    gpus_per_node: int | None = row(Int(0, 64), "GPUs a node without -G; unset: node.gpus.")
    gpu_option: str | None = row(
        Choice("gres", "gpus-per-node", "ngpus", "none"),
        "What asks for GPUs. Slurm: `gres` (the default) or `gpus-per-node`. PBS: `ngpus`, where "
        "the site has made that resource; without it, no GPUs are asked for.",
    )
    chunk: Mapping[str, str] = row(
        MapOf(Text("[A-Za-z0-9_.-]+", "letters, digits and _ . -", any_scalar=True), RESOURCE),
        "PBS: more resources of a chunk, such as `sales_op: blanca`; mpiprocs and ompthreads too.",
        dict,
    )
    place: str | None = row(
        Text(
            "(scatter|vscatter|pack|free)(:(excl|exclhost|shared))?(:group=[A-Za-z0-9_.-]+)?",
            "an arrangement such as scatter:excl",
        ),
        "PBS: how chunks are placed; unset: `scatter` for several nodes, `excl` for whole ones.",
    )
    exclusive: bool = row(Bool(), "Whole nodes, shared with no other job.", False)
    memory: str | None = row(
        Text(f"all|{SIZE}", "`all`, or a size such as 440G"),
        "Memory a node: `all` of it, or a size; unset: the site's default.",
    )
    time: str | None = row(Walltime(), "Walltime without -t; unset: the site's default.")
    output: str | None = row(LINE, "Pattern of the output file, in the scheduler's own spelling.")
    live_output: bool = row(
        Bool(), "PBS: output appears while the job runs (-k doe), not at its end.", False
    )

    qos: str | None = row(WORD, "Slurm's quality of service; unset: the site's default.")
    reservation: str | None = row(WORD, "Reserved nodes to run on: with PBS, their queue.")
    constraint: str | None = row(
        WORD,
        "What nodes must have. Slurm: features, as sbatch's --constraint has them. PBS: resources "
        "of a chunk, as NAME=VALUE, several joined by `:`.",
    )
    mail: str | None = row(
        Text(f"[^ ,{CONTROLS}-][^ ,{CONTROLS}]*", "an address"), "Who gets mail about a job."
    )
    mail_on: str | None = row(
        Text("(begin|end|fail)(,(begin|end|fail))*", "some of begin, end and fail, joined by `,`"),
        "When mail is sent; unset: at the end and at a failure, where `mail` names somebody.",
    )

    def fewest(self, nodes: int) -> int:
        """The nodes that a job of so many can do with."""
        return self.min_nodes or nodes


@dataclass(frozen=True)
class Variable:
    """An environment variable that the ranks get."""

    value: str | None = row(Text(any_scalar=True, most=LONGEST_WORDS), "Its value.")
    why: str = row(Text(r"[^\x00-\x09\x0b-\x1f\x7f]*", "text"), "The reason, a comment there.", "")
    nodes: str = row(
        Choice("any", "several"), "`several`: set only where a job has several nodes.", "any"
    )


@dataclass(frozen=True)
class Network:
    """The network that the ranks talk over."""

    interface: tuple[str, ...] | None = row(
        ListOf(INTERFACE, or_one=True),
        "The interface of rank 0's address and of each node's; several: the first is for "
        "addresses, NCCL's bootstrap uses all. Unset: the one that node 0's name resolves to, "
        "and on the others the one that leads there.",
    )
    port: int | None = row(
        Int(1024, 65535),
        "Rendezvous port on exclusive nodes; elsewhere, or unset, it is made from the job's id.",
    )
    environment: Mapping[str, Variable] = row(
        MapOf(Record(Variable, short="value"), VARIABLE), "What the fabric needs.", dict
    )


@dataclass(frozen=True)
class Container:
    """The container that the ranks run in."""

    engine: str = row(
        Choice("podman", "docker", "apptainer", "pyxis"),
        "What runs the container; `pyxis` is srun's --container-image, which unpacks with enroot.",
        "podman",
    )
    image: str | None = row(
        WORD,
        "The image, with its registry; for apptainer also a .sif file, for pyxis a .sqsh, by path.",
    )
    mounts: tuple[str, ...] = row(
        ListOf(
            Text("[^\\x00-\\x1f\\x7f:]+:/[^\\x00-\\x1f\\x7f:]*(:[a-zA-Z,]+)?", "HOST:/INSIDE[:ro]")
        ),
        "Folders HOST:/INSIDE[:ro]. The job's own folder is always there, under its own path.",
        (),
    )
    devices: tuple[str, ...] | None = row(
        ListOf(PATH),
        "podman, docker: devices; unset: what the node's GPUs need (AMD: /dev/kfd and /dev/dri).",
    )
    groups: tuple[str, ...] | None = row(
        ListOf(WORD),
        "podman, docker: extra groups; unset: what the node's GPUs need.",
    )
    privileged: bool = row(
        Bool(),
        "podman, docker: all devices and capabilities of the host, where less cannot do.",
        False,
    )
    options: tuple[str, ...] = row(ListOf(LINE), "More options of the engine, one a word.", ())


@dataclass(frozen=True)
class Software:
    """How python3 with torch comes about on a node."""

    modules: tuple[str, ...] = row(ListOf(WORD), "Environment modules to load, in order.", ())
    venv: str | None = row(LISTED, "The folder of a virtual environment.")
    conda: str | None = row(
        Text(f"[^{CONTROLS}-][^{CONTROLS}]*", "a name or a path, not beginning with -"),
        "The name or the folder of a conda environment.",
    )
    container: Container | None = row(Record(Container), "A container for the ranks.")
    nccl_root: str | None = row(
        LISTED, "An NCCL of one's own: its `lib` goes on LD_LIBRARY_PATH, and NCCL_ROOT names it."
    )
    aws_ofi_nccl_root: str | None = row(
        LISTED, "An aws-ofi-nccl of one's own: the same, with AWS_OFI_NCCL_ROOT."
    )
    commands: tuple[str, ...] = row(
        ListOf(LINE), "Shell lines to run on every node first: the one place for shell.", ()
    )


@dataclass(frozen=True)
class Workspace:
    """A repository that programs are taken from: a job fetches it before its ranks start."""

    url: str | None = row(
        Text(
            f"(https?|ssh|git|file)://[^ {CONTROLS}]+|[\\w.-]+@[\\w.-]+:[^ {CONTROLS}]+",
            "a git URL: https://…, ssh://…, file:///… or user@host:path",
        ),
        "Where git fetches it; every node that a job may begin on has to reach it.",
    )
    commit: str | None = row(
        Text(
            "[0-9a-f]{40}([0-9a-f]{24})?", "a commit's whole number, which `git rev-parse` prints"
        ),
        "The commit: a branch would be another program tomorrow.",
    )
    # torchrun would put the rank for a $local_rank in a path.
    folder: str | None = row(
        Text(
            f"(?!.*\\$\\$)[/$~][^{CONTROLS}:,]*",
            "a path from / or $NAME, without `:`, `,` and `$$`",
        ),
        "Where it is kept, a subfolder a commit; all nodes have to see it.",
    )


@dataclass(frozen=True)
class Launch:
    """How the ranks are started."""

    launcher: str = row(
        Choice("torchrun", "srun"), "One torchrun a node, or one srun task a rank.", "torchrun"
    )
    rendezvous: str = row(
        Choice("c10d", "static"), "How torchrun's agents of several nodes meet.", "c10d"
    )
    starter: str = row(
        Choice("pbs_tmrsh", "pbsdsh", "ssh", "mpiexec-openmpi", "mpiexec-mpich", "mpiexec-pals"),
        "PBS: what starts torchrun on each node. `pbs_tmrsh` needs nothing but PBS. `pbsdsh` is "
        "the same with all statuses lost, which the script makes up for. `ssh` needs keys, and PBS "
        "does not know what it started: no accounting, no VNI on Slingshot. `mpiexec-*` needs that "
        "MPI on PATH, and hostnames as in the node file.",
        "pbs_tmrsh",
    )
    stop_grace: int = row(
        Int(0, 3600),
        "PBS, and containers: seconds that ranks get between TERM and KILL when the job is "
        "stopped. PBS itself kills 10 s after the walltime and 24 s after qdel.",
        5,
    )
    processes_per_node: int | None = row(
        Int(1, 1024), "Ranks a node; unset: one a GPU, or one where there are none."
    )
    max_restarts: int = row(Int(0, 1000), "How often torchrun starts failed ranks again.", 0)
    requeue: bool = row(
        Bool(),
        "Queue the job again when a node is lost and, with Slurm, when the walltime ends it and "
        "its ranks have saved.",
        False,
    )
    signal: int | None = row(
        Int(1, 65535),
        "Seconds before the walltime at which the ranks get SIGUSR1, to save and end; unset: none, "
        "or 120 with `requeue` and a walltime.",
    )
    cpu_bind: str | None = row(
        Text("[a-z_]+(:[0-9a-fx,]+)?", "a kind of srun's --cpu-bind, such as none or cores"),
        "Slurm: what srun binds its tasks to (a torchrun with its ranks, or a rank); unset: the "
        "site's way.",
    )
    numa_binding: str | None = row(
        Choice("node", "socket", "exclusive", "core-complex"),
        "torchrun binds each rank to the cores near its GPU; needs torch 2.9 and numactl.",
    )
    join_timeout: int = row(
        Int(5, 86400), "Seconds that the nodes wait for one another before the job fails.", 600
    )


@dataclass(frozen=True)
class Profile:
    """A cluster, as jobgen knows it."""

    description: str = row(LINE, "One line for `jobgen profiles list`.", "")
    extends: tuple[str, ...] = row(
        ListOf(WORD, or_one=True), "Base profiles, by name or path (*.yaml); later ones win.", ()
    )
    scheduler: str | None = row(
        Choice("slurm", "pbs", "local"), "What runs jobs there; a mere base says none."
    )
    partition: str | None = row(WORD, "Slurm's partition; unset: the site's default.")
    queue: str | None = row(WORD, "PBS's queue; unset: the site's default.")
    account: str | None = row(WORD, "The account that pays.")
    limits: Limits = row(Record(Limits), "The most that one job gets.", Limits)
    node: Node = row(Record(Node), "One compute node.", Node)
    request: Request = row(Record(Request), "How a job is asked for.", Request)
    network: Network = row(Record(Network), "The network that the ranks talk over.", Network)
    software: Software = row(Record(Software), "How python3 with torch comes about.", Software)
    workspace: Workspace | None = row(
        Record(Workspace), "The repository that a PROGRAM without a leading / is in (not by hand)."
    )
    launch: Launch = row(Record(Launch), "How the ranks are started.", Launch)
    trainer: str = row(NAME, "The packaged trainer for a job that names no program.", "elastic_ddp")


ROOT = Record(Profile)


def _of_the_other_scheduler(profile: Profile, note: Callable[[str, str, str], None]) -> None:
    for name, other, hint in (
        ("partition", "pbs", "PBS has a `queue`"),
        ("queue", "slurm", "Slurm has a `partition`"),
        ("request.qos", "pbs", "PBS has queues for that"),
        ("launch.cpu_bind", "pbs", "only srun binds tasks"),
    ):
        if attrgetter(name)(profile) and profile.scheduler == other:
            note(name, f"{other} knows no {name.rpartition('.')[2]}", hint)
    known = {"slurm": ("gres", "gpus-per-node", "none"), "pbs": ("ngpus", "none")}
    words, said = known.get(profile.scheduler or "", ()), profile.request.gpu_option
    if said and words and said not in words:
        text = f"{profile.scheduler} knows no `{said}`"
        note("request.gpu_option", text, f"one of: {', '.join(words)}")


def reserved(name: str) -> bool:
    """Whether no job may set the environment variable `name`."""
    return name in RESERVED or name.startswith(("JOBGEN_", "BASH", "PBS_"))


def conflicts(profile: Profile, origins: Mapping[str, Mark]) -> list[Problem]:
    """What no single row can see: values of a resolved profile that do not go together."""
    found: list[Problem] = []

    def note(path: str, text: str, hint: str) -> None:
        found.append(Problem(origins.get(path, Mark("the profile")), text, "conflict", hint))

    _of_the_other_scheduler(profile, note)
    software = profile.software
    if software.venv and software.conda:
        note(
            "software.venv", "`venv` and `conda` are both set", "keep one; null takes a base's away"
        )
    if software.container and not software.container.image:
        note("software.container", "`software.container` has no `image`", "name one")
    if software.container and software.container.engine in ("apptainer", "pyxis"):
        for name in ("devices", "groups", "privileged"):
            if getattr(software.container, name):
                text = f"{software.container.engine} has the host's devices, and no `{name}`"
                note(f"software.container.{name}", text, "null takes a base's away")
    if software.container and software.container.engine in ("apptainer", "pyxis"):
        engine = software.container.engine
        for mount in software.container.mounts:
            if "," in mount:
                text = f"{mount!r:.80} has a `,`, which parts the mounts of {engine}"
                note("software.container.mounts", text, "another path")
    if software.container and software.container.engine == "pyxis":
        if profile.scheduler not in ("slurm", None):
            note("software.container.engine", "pyxis is Slurm's", "podman, docker or apptainer")
        if profile.launch.launcher == "srun":
            text = (
                "the launcher srun, whose ranks Slurm would number anew in each container of pyxis"
            )
            note("launch.launcher", text, "the launcher torchrun, or another engine")
    if profile.workspace:
        for name in ("url", "commit", "folder"):
            if getattr(profile.workspace, name) is None:
                note("workspace", f"`workspace` has no `{name}`", "it needs url, commit and folder")
    outside = ("venv", "conda", "nccl_root", "aws_ofi_nccl_root") if software.container else ()
    for name in outside:
        if getattr(software, name):
            hint = "ranks run in the container, and do not see it: keep one of the two"
            note(f"software.{name}", f"`{name}` and `container` are both set", hint)
    request = profile.request
    if request.min_nodes and request.min_nodes > request.nodes:
        text = f"as few as {request.min_nodes} of {request.nodes} nodes"
        note("request.min_nodes", text, "-N MIN:MAX, the smaller first")
    for name, variable in profile.network.environment.items():
        path = f"network.environment.{name}"
        if reserved(name):
            note(path, f"`{name}` is the script's, torchrun's or bash's own", "choose another name")
        if variable.value is None:
            note(path, f"`{name}` has no `value`", "give one; null as a whole takes it away")
    return found
