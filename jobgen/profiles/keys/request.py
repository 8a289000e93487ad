"""The keys of a profile below `request`: what a job asks the scheduler for."""

# No `annotations` from __future__: `typing` compiles each annotation of a tuple that is text.
from collections.abc import Mapping
from typing import NamedTuple

from jobgen.profiles.kinds import (
    CONTROLS,
    CPUS,
    LINE,
    NODES,
    PATH,
    RESOURCE,
    WORD,
    Bool,
    Choice,
    Int,
    SomeOf,
    Text,
)
from jobgen.profiles.records import ListOf, MapOf, record, row
from jobgen.profiles.units import Size, Walltime


def asks_for_whole_nodes(place: str) -> bool:
    """Whether an arrangement of PBS's chunks keeps other jobs away; a group may be called excl."""
    return not {"excl", "exclhost"}.isdisjoint(place.split(":"))


_ONE_MACHINE = {"local": "a local job has this machine: `node.cpus`"}


@record
class Request(NamedTuple):
    """What a job asks the scheduler for."""

    nodes: int = row(NODES, "Nodes of a job without -N.", 1)
    min_nodes: int | None = row(
        NODES, "The fewest nodes that a job can start and continue with; default: all nodes."
    )
    spares: int = row(
        Int(0, 1024),
        "Nodes in reserve, for those that are not ready, or lost.",
        0,
        example="2",
        absent={"local": "a local job has one machine"},
    )
    gpus_per_node: int | None = row(Int(0, 64), "GPUs on each node without -G; default: node.gpus.")
    cpus_per_gpu: int | None = row(
        CPUS,
        "Cores for each GPU of the job: with 18, a job with two GPUs on a node gets 36 there. "
        "Default of all three such keys: see node.cpus.",
        absent=_ONE_MACHINE,
    )
    cpus_per_node: int | None = row(
        CPUS,
        "Cores on each node, however many GPUs the job has there. PBS: ncpus of a chunk.",
        absent=_ONE_MACHINE,
    )
    cpus_per_task: int | None = row(
        CPUS,
        "Slurm: the number of --cpus-per-task. A task is a torchrun with all ranks of its node; "
        "with the launcher srun it is a rank.",
        absent={"pbs": "`request.cpus_per_node`, the ncpus of a chunk", **_ONE_MACHINE},
    )
    gpu_option: str | None = row(
        Choice("gres", "gpus-per-node", "gpus-per-task", "gpus", "ngpus", "none"),
        "The option that requests GPUs. Slurm: `gres` (the default), `gpus-per-node`, "
        "`gpus-per-task` or `gpus` (the number of the whole job; --gpus-per-node beside it, since "
        "Slurm may else put unequal numbers on the nodes). PBS: `ngpus`, if the site has created "
        "that resource, or Torque's `gpus`; without it, no GPUs are requested. `none`: the "
        "partition gives them.",
    )
    resource_option: str | None = row(
        Choice("select", "ncpus", "nodes"),
        "PBS: the option that requests nodes. `select` (the default): a chunk for each. Where a "
        "site takes none: `ncpus`, with ngpus and mem of the whole job (Gadi); `nodes`, Torque's "
        "nodes=N:ppn=CORES:gpus=G. `chunk` is then -l NAME=VALUE, of the whole job.",
        example="ncpus",
        absent={"slurm": "Slurm has --nodes", "local": "a local job has one machine"},
    )
    account_option: str | None = row(
        Choice("A", "P", "group_list"),
        "PBS: the option that names the account: -A (the default), -P, or -W group_list=.",
        example="P",
        absent={"slurm": "Slurm has --account", "local": "a local job has no account"},
    )
    directives: tuple[str, ...] = row(
        ListOf(LINE),
        "More options of sbatch or qsub for every job, written as after --directive: "
        "`--wait-all-nodes=1`, or `-l filesystems=home`.",
        (),
        example='["--wait-all-nodes=1"]',
    )
    chunk: Mapping[str, str] = row(
        MapOf(Text("[A-Za-z0-9_.-]+", "letters, digits and _ . -", any_scalar=True), RESOURCE),
        "PBS: more resources of a chunk, such as `sales_op: blanca`; mpiprocs and ompthreads too.",
        dict,
        example="{sales_op: blanca}",
        absent={"slurm": "Slurm has `request.constraint` for features of nodes"},
    )
    place: str | None = row(
        Text(
            "(scatter|vscatter|pack|free)(:(excl|exclhost|shared))?(:group=[A-Za-z0-9_.-]+)?",
            "an arrangement such as scatter:excl",
        ),
        "PBS: how chunks are placed; `excl` says `exclusive`, too. Default: `scatter` for several "
        "nodes, `excl` for whole nodes.",
        example="scatter:excl",
        absent={"slurm": "Slurm has `request.exclusive` for whole nodes"},
    )
    exclusive: bool = row(Bool(), "Whole nodes, shared with no other job.", False)
    memory: str | None = row(
        Size("440G", "all"),
        "Memory on each node: `all` of it, or a size; default: the site's.",
        example="440G",
    )
    memory_per_cpu: str | None = row(
        Size("4G"),
        "Slurm: memory for each core, instead of `memory`.",
        example="4G",
        absent={"pbs": "`request.memory`, on each node"},
    )
    memory_per_gpu: str | None = row(
        Size("115G"),
        "Slurm: memory for each GPU, instead of `memory`.",
        example="115G",
        absent={"pbs": "`request.memory`, on each node"},
    )
    hint: str | None = row(
        Choice("compute_bound", "memory_bound", "multithread", "nomultithread"),
        "Slurm: --hint, which some sites put into every job; `nomultithread`: one thread a core.",
        absent={"pbs": "`request.chunk` for what a site calls it"},
    )
    threads_per_core: int | None = row(
        Int(1, 16),
        "Slurm: --threads-per-core, how many hardware threads of a core are used.",
        absent={"pbs": "`request.chunk` for what a site calls it"},
    )
    licenses: str | None = row(
        WORD,
        "Slurm: --licenses, such as scratch or matlab:2.",
        example="scratch",
        absent={"pbs": "`request.directives`: `-l NAME=N`"},
    )
    exclude: str | None = row(
        WORD,
        "Slurm: --exclude, nodes that the job must not get.",
        example='"gpu[07,12]"',
        absent={
            "pbs": "PBS excludes no node by its name; ask the site's staff to take it offline",
            "local": "a local job has one machine",
        },
    )
    segment: int | None = row(
        Int(1, 65535),
        "Slurm 24.05, block topologies: --segment, so many nodes each are neighbours.",
        absent={
            "pbs": "`request.place` with `:group=RESOURCE`",
            "local": "a local job has one machine",
        },
    )
    chdir: str | None = row(
        PATH,
        "The folder that the job runs in; default: the one that it is submitted from.",
        example="/scratch/project",
    )
    time: str | None = row(
        Walltime(), "Walltime without -t; default: the site's.", example='"1:30:00"'
    )
    output: str | None = row(
        LINE, "The output file, with the scheduler's own patterns.", example="logs/%x-%j.out"
    )
    error: str | None = row(
        LINE,
        "A file of its own for the error stream; default: it goes to the output file.",
        example="logs/%x-%j.err",
    )
    log_folder: str | None = row(
        PATH,
        "The folder that keeps what each rank wrote; default: `jobgen-logs`, if it fails.",
        example="/scratch/$USER/logs",
    )
    live_output: bool = row(
        Bool(), "PBS: output appears while the job runs (-k doe), not at its end.", False
    )
    qos: str | None = row(
        WORD,
        "Slurm: the quality of service; default: the site's.",
        example="long",
        absent={"pbs": "PBS has a `queue` for that"},
    )
    reservation: str | None = row(
        WORD, "The reservation to run in; with PBS, its queue.", example="course"
    )
    constraint: str | None = row(
        WORD,
        "What nodes must have. Slurm: features, as for sbatch --constraint. PBS: resources of a "
        "chunk as NAME=VALUE, several joined by `:`.",
        example="a100&ib",
    )
    mail: str | None = row(
        Text(f"[^ ,{CONTROLS}-][^ ,{CONTROLS}]*", "an address"),
        "The address for mail about a job.",
        example="me@example.org",
    )
    mail_on: tuple[str, ...] | None = row(
        SomeOf("begin", "end", "fail"),
        "When to send mail; default: at the end and at a failure, if `mail` is set.",
    )
