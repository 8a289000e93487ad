"""What a cluster is: the frozen Profile, with one row for each key."""

# No `annotations` from __future__: `typing` compiles each annotation of a tuple that is text.
from collections.abc import Mapping
from typing import NamedTuple

from jobgen.bounds import JOB_TEXT_BYTES
from jobgen.profiles.kinds import (
    CPUS,
    FREE,
    INTERFACE,
    NODE,
    NODE_LINE,
    PATH,
    VARIABLE,
    WORD,
    Bool,
    Choice,
    Int,
    Text,
)
from jobgen.profiles.records import ListOf, MapOf, Record, record, row
from jobgen.profiles.request_keys import Limits as Limits
from jobgen.profiles.request_keys import Request as Request
from jobgen.profiles.software_keys import Software, Workspace
from jobgen.profiles.units import Duration, Size


@record
class Node(NamedTuple):
    """One compute node."""

    cpus: int | None = row(
        CPUS,
        "Cores of a node that a job can use: on a site that keeps some for the system, fewer than "
        "`sinfo -o %c` shows (CPUEfctv in `scontrol show node`). Without "
        "request.cpus_per_gpu and its like, a job gets all cores of an exclusive node; else the "
        "share of its GPUs, or one for each rank.",
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
        example="gh200",
        absent={"pbs": "`request.chunk` with the site's resource, such as gpu_model: a100"},
    )
    memory: str | None = row(
        Size("512G"), "Memory of a node; a job requests it with `request.memory`.", example="512G"
    )
    arch: str | None = row(
        Choice("x86_64", "aarch64", "ppc64le"), "What `uname -m` prints on a node; checked if set."
    )


@record
class Variable(NamedTuple):
    """An environment variable of the ranks."""

    value: str | None = row(
        Text(any_scalar=True, most=JOB_TEXT_BYTES, dollar=NODE), "Its value.", example="INFO"
    )
    why: str = row(
        Text(r"[^\x00-\x09\x0b-\x1f\x7f]*", "text", dollar=FREE),
        "Why it is set; a comment in the script.",
        "",
        example="NCCL's choice of a network is in the output.",
    )
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
        example="[hsn0, hsn1]",
    )
    port: int | None = row(
        Int(1024, 65535),
        "The rendezvous port on exclusive nodes; else, or by default, computed from the job's id.",
    )
    environment: Mapping[str, Variable] = row(
        MapOf(Record(Variable, short="value"), VARIABLE),
        "Variables that the fabric needs.",
        dict,
        example="{NCCL_DEBUG: INFO, HF_HOME: $SCRATCH/hf}",
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
        example='["--gpu-bind=closest"]',
        absent={"pbs": "only Slurm has srun"},
    )
    mpiexec_options: tuple[str, ...] = row(
        ListOf(NODE_LINE),
        "PBS, with the launcher mpiexec: options of the mpiexec that starts the ranks, one word "
        "each.",
        (),
        example='["--pmi=pmix"]',
        absent={"slurm": "Slurm has `launch.srun_options`"},
    )
    oom_kill_step: bool = row(
        Bool(),
        "Slurm 24.11: --oom-kill-step=1, if the kernel kills any process of a node for memory, "
        "such as a loader of data, all ranks end at once; needs cgroup v2.",
        False,
        absent={"pbs": "only Slurm has it", "local": "only Slurm has it"},
    )
    rendezvous: str = row(Choice("c10d", "static"), "How torchrun's agents meet.", "c10d")
    starter: str | None = row(
        Choice(
            *("srun", "mpirun", "ssh", "pbs_tmrsh", "pbsdsh"),
            *("mpiexec-openmpi", "mpiexec-mpich", "mpiexec-pals"),
        ),
        "What starts the nodes of a job. Slurm: `srun` (the default), OpenMPI's `mpirun`, `ssh`. "
        "PBS: `pbs_tmrsh` (the default) and `pbsdsh`, which come with PBS, `ssh`, and `mpiexec-*`, "
        "which needs that MPI, on PATH or in `software.modules`, and the host names of the node "
        "file. `ssh` needs keys, and "
        "the scheduler does not account for its processes; on Slingshot they have no VNI.",
        absent={"local": "a local job has one machine"},
    )
    plain: bool = row(
        Bool(),
        "The short script: no checks, no signals, no restarts.",
        False,
        absent={"local": "a local job is short as it is"},
    )
    stop_grace: int = row(
        Duration("seconds", 0, 3600),
        "Seconds between TERM and KILL for the ranks, below `kill_delay` by 2 or more.",
        5,
    )
    kill_delay: int | None = row(
        Duration("seconds", 2, 3600),
        "Seconds between the scheduler's TERM and its KILL; default: 10 on PBS (kill_delay of a "
        "queue), 30 on Slurm (KillWait).",
        absent={"local": "no scheduler ends a local job"},
    )
    processes_per_node: int | None = row(
        Int(1, 1024), "Ranks on a node; default: one a GPU, or one."
    )
    max_restarts: int = row(Int(0, 1000), "How many times failed ranks are started again.", 0)
    stall: int | None = row(
        Duration("minutes", 1, 10080),
        "Minutes without a line of any rank until each writes its stack and ends.",
        # PYTHONFAULTHANDLER does not handle SIGQUIT, which ends a rank without its stack.
        absent={
            "local": "look yourself: `py-spy dump --pid PID`,"
            " or `kill -ABRT PID` with -e PYTHONFAULTHANDLER=1"
        },
    )
    requeue: bool = row(
        Bool(), "Requeue after a lost node and, with Slurm, at the walltime if ranks saved.", False
    )
    expedite: bool = row(
        Bool(),
        "Slurm 25.11, with `requeue`: --requeue=expedite, where the site has "
        "`enable_expedited_requeue`: if an epilog finds a node broken, the job starts next.",
        False,
        absent={"pbs": "PBS has no such option", "local": "no scheduler queues a local job"},
    )
    chain: int | None = row(
        Int(2, 1000),
        "How many jobs the training may take, one after the other, until it is done.",
        absent={"local": "a local job has no walltime"},
    )
    progress: str | None = row(
        PATH,
        "With `chain`: files of which one is newer if the training got further, such as its "
        "snapshots. A program may touch $JOBGEN_PROGRESS instead.",
        example='"snapshots/*.pt"',
    )
    exclude_at_most: int = row(
        Int(0, 64), "Slurm, with `requeue`: how many nodes a job excludes if they are not ready.", 3
    )
    signal: int | None = row(
        Duration("seconds", 1, 65535),
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
        example="cores",
    )
    numa_binding: str | None = row(
        Choice("node", "socket", "exclusive", "core-complex"),
        "torchrun binds each rank to the cores near its GPU; needs torch 2.9 and numactl.",
    )
    join_timeout: int = row(
        Duration("seconds", 5, 86400),
        "Seconds that the nodes wait for one another before the job fails.",
        600,
    )


@record
class Profile(NamedTuple):
    """A cluster, as jobgen knows it."""

    description: str = row(
        Text(dollar=FREE),
        "One line for `jobgen profiles list`.",
        "",
        example="four A100 a node, InfiniBand, Slurm",
    )
    extends: tuple[str, ...] = row(
        ListOf(WORD, or_one=True),
        "Base profiles, by name or path (*.yaml); later ones win.",
        (),
        example="fabrics/infiniband",
    )
    scheduler: str | None = row(
        Choice("slurm", "pbs", "local"), "The scheduler; unset if others only extend the profile."
    )
    slurm_version: str | None = row(
        Text(r"\d{2}\.\d{2}[\w.-]*", "a version of Slurm, such as 24.11"),
        "The version of Slurm, as `sinfo --version` has it; an option that it lacks is refused. "
        "Unset: sbatch refuses it when the job is submitted.",
        example='"24.11"',
        absent={"pbs": "it is for Slurm", "local": "it is for Slurm"},
    )
    partition: str | None = row(
        WORD,
        "Slurm: the partition; default: the site's.",
        example="gpu",
        absent={"pbs": "PBS has a `queue`"},
    )
    queue: str | None = row(
        WORD,
        "PBS: the queue; default: the site's.",
        example="gpu",
        absent={"slurm": "Slurm has a `partition`"},
    )
    account: str | None = row(WORD, "The account that is charged.", example="physics")
    limits: Limits = row(Record(Limits), "The most that one job gets.", Limits)
    node: Node = row(Record(Node), "One compute node.", Node)
    request: Request = row(Record(Request), "What a job asks the scheduler for.", Request)
    network: Network = row(Record(Network), "The network of the ranks.", Network)
    software: Software = row(Record(Software), "How a node loads Python and torch.", Software)
    workspace: Workspace | None = row(
        Record(Workspace), "The git repository of a PROGRAM that does not begin with /."
    )
    launch: Launch = row(Record(Launch), "How the ranks are started.", Launch)
    trainer: str = row(
        Text(r"(?!.*\.py)[A-Za-z0-9_][A-Za-z0-9_.+@%-]*", "the name of a packaged trainer"),
        "The packaged trainer of a job without a program.",
        "elastic_ddp",
        example="regression",
    )


ROOT = Record(Profile)
