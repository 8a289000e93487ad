"""The keys of a profile below `launch`: how the ranks are started."""

# No `annotations` from __future__: `typing` compiles each annotation of a tuple that is text.
from typing import NamedTuple

from jobgen.profiles.kinds import NODE_LINE, PATH, Bool, Choice, Int, Text
from jobgen.profiles.records import ListOf, record, row
from jobgen.profiles.units import Duration


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
