"""What a cluster is: the frozen Profile, with one row for each key."""

# No `annotations` from __future__: `typing` compiles each annotation of a tuple that is text.
from collections.abc import Mapping
from typing import NamedTuple

from jobgen.limits import NODE_BYTES
from jobgen.profiles.kinds import (
    CONTROLS,
    CPUS,
    INTERFACE,
    LINE,
    LINES,
    NAME,
    NO_UNIT,
    NODE,
    NODE_LINE,
    NODES,
    NOTE,
    PATH,
    RESOURCE,
    SIZE,
    VARIABLE,
    WORD,
    Bool,
    Choice,
    Int,
    SomeOf,
    Text,
    Walltime,
)
from jobgen.profiles.records import ListOf, MapOf, Record, record, row
from jobgen.profiles.software_keys import Software, Workspace


@record
class Limits(NamedTuple):
    """The most that one job gets. Unset: not known, and not checked."""

    nodes: int | None = row(NODES, "The most nodes of one job.")
    gpus_per_node: int | None = row(Int(0, 64), "The most GPUs on a node; default: node.gpus.")
    time: str | None = row(Walltime(), "The longest walltime.")


@record
class Node(NamedTuple):
    """One compute node."""

    cpus: int | None = row(
        CPUS,
        "Cores of a node that a job can use: on a site that keeps some for the system, fewer than "
        "`sinfo -o %c` shows (CPUEfctv in `scontrol show node`). A job gets all cores of an "
        "exclusive node; else the share of its GPUs, or one for each rank.",
    )
    gpus: int = row(Int(0, 64), "GPUs of a node.", 0)
    gpu: str = row(
        Choice("nvidia", "amd", "intel", "none"),
        "The vendor of the GPUs. `none`: the job requests the same, but the ranks run on the CPU.",
        "none",
    )
    gpu_type: str | None = row(
        Text("[A-Za-z0-9_][A-Za-z0-9_.-]*", "the name of a type of GPUs, such as gh200"),
        "Slurm: the type of the GPUs, where the site's documentation requests one: `gh200` in "
        "--gres=gpu:gh200:4.",
    )
    memory: str | None = row(
        Text(SIZE, "a size, such as 512G", unlike=NO_UNIT), "Memory of a node."
    )
    arch: str | None = row(
        Choice("x86_64", "aarch64", "ppc64le"), "What `uname -m` prints on a node; checked if set."
    )


@record
class Request(NamedTuple):
    """What a job asks the scheduler for."""

    nodes: int = row(NODES, "Nodes of a job without -N.", 1)
    min_nodes: int | None = row(
        NODES, "The fewest nodes that a job can start and continue with; default: all nodes."
    )
    spares: int = row(Int(0, 1024), "Nodes in reserve, for those that are not ready, or lost.", 0)
    gpus_per_node: int | None = row(Int(0, 64), "GPUs on each node without -G; default: node.gpus.")
    gpu_option: str | None = row(
        Choice("gres", "gpus-per-node", "gpus-per-task", "gpus", "ngpus", "none"),
        "The option that requests GPUs. Slurm: `gres` (the default), `gpus-per-node`, "
        "`gpus-per-task` or `gpus` (the number of the whole job). PBS: `ngpus`, if the site has "
        "created that resource; without it, no GPUs are requested. `none`: the partition gives "
        "them.",
    )
    directives: tuple[str, ...] = row(
        ListOf(LINE),
        "More options of sbatch or qsub for every job, written as after --directive: "
        "`--wait-all-nodes=1`, or `-l filesystems=home`.",
        (),
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
        "PBS: how chunks are placed; default: `scatter` for several nodes, `excl` for whole nodes.",
    )
    exclusive: bool = row(Bool(), "Whole nodes, shared with no other job.", False)
    memory: str | None = row(
        Text(f"all|{SIZE}", "`all`, or a size such as 440G", unlike=NO_UNIT),
        "Memory on each node: `all` of it, or a size; default: the site's.",
    )
    memory_per_cpu: str | None = row(
        Text(SIZE, "a size, such as 4G", unlike=NO_UNIT),
        "Slurm: memory for each core, instead of `memory`.",
    )
    memory_per_gpu: str | None = row(
        Text(SIZE, "a size, such as 115G", unlike=NO_UNIT),
        "Slurm: memory for each GPU, instead of `memory`.",
    )
    hint: str | None = row(
        Choice("compute_bound", "memory_bound", "multithread", "nomultithread"),
        "Slurm: --hint, which some sites put into every job; `nomultithread`: one thread a core.",
    )
    threads_per_core: int | None = row(
        Int(1, 16), "Slurm: --threads-per-core, how many hardware threads of a core are used."
    )
    licenses: str | None = row(WORD, "Slurm: --licenses, such as scratch or matlab:2.")
    exclude: str | None = row(WORD, "Slurm: --exclude, nodes that the job must not get.")
    chdir: str | None = row(
        PATH, "The folder that the job runs in; default: the one that it is submitted from."
    )
    time: str | None = row(Walltime(), "Walltime without -t; default: the site's.")
    output: str | None = row(LINE, "The output file, with the scheduler's own patterns.")
    error: str | None = row(
        LINE, "A file of its own for the error stream; default: it goes to the output file."
    )
    log_folder: str | None = row(
        PATH, "The folder that keeps what each rank wrote; default: `jobgen-logs`, if it fails."
    )
    live_output: bool = row(
        Bool(), "PBS: output appears while the job runs (-k doe), not at its end.", False
    )
    qos: str | None = row(WORD, "Slurm: the quality of service; default: the site's.")
    reservation: str | None = row(WORD, "The reservation to run in; with PBS, its queue.")
    constraint: str | None = row(
        WORD,
        "What nodes must have. Slurm: features, as for sbatch --constraint. PBS: resources of a "
        "chunk as NAME=VALUE, several joined by `:`.",
    )
    mail: str | None = row(
        Text(f"[^ ,{CONTROLS}-][^ ,{CONTROLS}]*", "an address"), "The address for mail about a job."
    )
    mail_on: tuple[str, ...] | None = row(
        SomeOf("begin", "end", "fail"),
        "When to send mail; default: at the end and at a failure, if `mail` is set.",
    )


@record
class Variable(NamedTuple):
    """An environment variable of the ranks."""

    value: str | None = row(Text(any_scalar=True, most=NODE_BYTES, dollar=NODE), "Its value.")
    why: str = row(LINES, "Why it is set; a comment in the script.", "")
    nodes: str = row(
        Choice("any", "several"), "`several`: set only in a job of several nodes.", "any"
    )


@record
class Network(NamedTuple):
    """The network of the ranks."""

    interface: tuple[str, ...] | None = row(
        ListOf(INTERFACE, or_one=True),
        "The interface for the addresses of the nodes. Of several, the first is for addresses, and "
        "NCCL's bootstrap uses all. Default: on node 0 the interface that its name resolves to, on "
        "the other nodes the one that leads to node 0.",
    )
    port: int | None = row(
        Int(1024, 65535),
        "The rendezvous port on exclusive nodes; else, or by default, computed from the job's id.",
    )
    environment: Mapping[str, Variable] = row(
        MapOf(Record(Variable, short="value"), VARIABLE), "Variables that the fabric needs.", dict
    )


@record
class Launch(NamedTuple):
    """How the ranks are started."""

    launcher: str = row(
        Choice("torchrun", "srun", "mpiexec", "node"),
        "`torchrun`: one torchrun on each node. `srun` (Slurm) and `mpiexec` (PBS): one of their "
        "processes for each rank. `node`: the program once on each node; it starts the ranks.",
        "torchrun",
    )
    srun_options: tuple[str, ...] = row(
        ListOf(NODE_LINE),
        "Slurm: options of the srun that starts the ranks, such as `--gpu-bind=closest`. Those "
        "that every step needs (such as --network, --mpi, --environment) go to all steps.",
        (),
    )
    mpiexec_options: tuple[str, ...] = row(
        ListOf(NODE_LINE),
        "PBS, with the launcher mpiexec: options of the mpiexec that starts the ranks, one word "
        "each.",
        (),
    )
    rendezvous: str = row(Choice("c10d", "static"), "How torchrun's agents meet.", "c10d")
    starter: str | None = row(
        Choice(
            *("srun", "mpirun", "ssh", "pbs_tmrsh", "pbsdsh"),
            *("mpiexec-openmpi", "mpiexec-mpich", "mpiexec-pals"),
        ),
        "What starts the nodes of a job. Slurm: `srun` (the default), OpenMPI's `mpirun`, `ssh`. "
        "PBS: `pbs_tmrsh` (the default) and `pbsdsh`, which come with PBS, `ssh`, and `mpiexec-*`, "
        "which needs that MPI on PATH and the host names of the node file. `ssh` needs keys, and "
        "the scheduler does not account for its processes; on Slingshot they have no VNI.",
    )
    plain: bool = row(Bool(), "The short script: no checks, no signals, no restarts.", False)
    stop_grace: int = row(
        Int(0, 3600),
        "Seconds between TERM and KILL for the ranks, below `kill_delay` by 2 or more.",
        5,
    )
    kill_delay: int | None = row(
        Int(2, 3600),
        "Seconds between the scheduler's TERM and its KILL; default: 10 on PBS (kill_delay of a "
        "queue), 30 on Slurm (KillWait).",
    )
    processes_per_node: int | None = row(
        Int(1, 1024), "Ranks on a node; default: one a GPU, or one."
    )
    max_restarts: int = row(Int(0, 1000), "How many times failed ranks are started again.", 0)
    stall: int | None = row(
        Int(1, 10080), "Minutes without a line of any rank until each writes its stack and ends."
    )
    requeue: bool = row(
        Bool(), "Requeue after a lost node and, with Slurm, at the walltime if ranks saved.", False
    )
    exclude_at_most: int = row(
        Int(0, 64), "Slurm, with `requeue`: how many nodes a job excludes if they are not ready.", 3
    )
    signal: int | None = row(
        Int(1, 65535),
        "Seconds before the walltime at which the ranks get SIGUSR1, to save and end; default: no "
        "signal, or 120 with `requeue` and a walltime.",
    )
    cpu_bind: str | None = row(
        Text(
            "((quiet|verbose|q|v),)?[a-z_]+([:=][0-9A-Za-zx,:.-]+)?",
            "a value of --cpu-bind, such as none, cores or mask_cpu:0xff,0xff00",
        ),
        "Slurm: how srun binds its tasks to cores (a torchrun with its ranks, or a rank); default: "
        "the site's. PBS, with the launcher mpiexec: how it binds ranks: `none` (the default), "
        "`core`, `numa`, `socket`, `depth:N` (N cores for each rank; `depth`: its share) or "
        "`list:0-7:8-15`, a part for each rank of a node.",
    )
    numa_binding: str | None = row(
        Choice("node", "socket", "exclusive", "core-complex"),
        "torchrun binds each rank to the cores near its GPU; needs torch 2.9 and numactl.",
    )
    join_timeout: int = row(
        Int(5, 86400), "Seconds that the nodes wait for one another before the job fails.", 600
    )


@record
class Profile(NamedTuple):
    """A cluster, as jobgen knows it."""

    description: str = row(NOTE, "One line for `jobgen profiles list`.", "")
    extends: tuple[str, ...] = row(
        ListOf(WORD, or_one=True), "Base profiles, by name or path (*.yaml); later ones win.", ()
    )
    scheduler: str | None = row(
        Choice("slurm", "pbs", "local"), "The scheduler; unset if others only extend the profile."
    )
    partition: str | None = row(WORD, "Slurm: the partition; default: the site's.")
    queue: str | None = row(WORD, "PBS: the queue; default: the site's.")
    account: str | None = row(WORD, "The account that is charged.")
    limits: Limits = row(Record(Limits), "The most that one job gets.", Limits)
    node: Node = row(Record(Node), "One compute node.", Node)
    request: Request = row(Record(Request), "What a job asks the scheduler for.", Request)
    network: Network = row(Record(Network), "The network of the ranks.", Network)
    software: Software = row(Record(Software), "How a node loads Python and torch.", Software)
    workspace: Workspace | None = row(
        Record(Workspace), "The git repository of a PROGRAM that does not begin with /."
    )
    launch: Launch = row(Record(Launch), "How the ranks are started.", Launch)
    trainer: str = row(NAME, "The packaged trainer of a job without a program.", "elastic_ddp")


ROOT = Record(Profile)
