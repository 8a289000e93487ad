"""What a plan needs of the machinery, as words: the conditions of the table of parts."""

from jobgen.planning.plan import Plan

_BY_COMMAND = ("pbs_tmrsh", "pbsdsh", "ssh")  # starters that start one node each
_NEED_AGENT = ("mpiexec-openmpi", "mpiexec-mpich")  # they start their daemons by pbs_tmrsh
_MPI = (*_NEED_AGENT, "mpiexec-pals", "mpirun")  # they may be in a module


def features(plan: Plan) -> frozenset[str]:
    """The words that hold for a plan; each has its meaning beside it."""
    words = {
        plan.scheduler: True,
        **_of_the_nodes(plan),
        **_of_the_start(plan),
        **_of_the_software(plan),
        **_of_what_happens(plan),
    }
    return frozenset(word for word, holds in words.items() if holds)


def _of_the_nodes(plan: Plan) -> dict[str, bool]:
    """How many there are, and what each of them does before the ranks start."""
    request, launch = plan.request, plan.launch
    torchrun, several = launch.launcher == "torchrun", request.nodes > 1
    is_bare = _is_one_torchrun(plan) or plan.scheduler == "local"
    return {
        "plain": launch.plain,
        "checked": not launch.plain,
        "one_torchrun": _is_one_torchrun(plan),  # one torchrun on one node, and nothing beside it
        "several": several,  # nodes
        "named": bool(plan.network.interface) or not several,  # the network interface
        # Each node runs a copy of the script.
        "copied": (several or not torchrun or not launch.plain) and not is_bare,
        "hosts": _needs_hosts(plan),  # the names of all nodes
        "leaves_files": several or not torchrun or plan.program.kind == "trainer",
        "roll_call": _has_roll_call(plan),
        "spares": request.spares > 0,
        "elastic": plan.elastic,
        "ordered": bool(plan.ordered_at),  # by a file of the user
    }


def _of_the_start(plan: Plan) -> dict[str, bool]:
    """What starts the nodes, and what starts the ranks on them."""
    launcher, starter = plan.launch.launcher, plan.launch.starter
    several, keeper = plan.request.nodes > 1, _has_keeper(plan)
    one_by_one = several and starter in _BY_COMMAND
    starts_nodes = several or launcher == "mpiexec"
    return {
        "torchrun": launcher == "torchrun",
        "mpiexec": launcher == "mpiexec",
        "ranks": launcher in ("srun", "mpiexec"),  # which start each rank
        "program_on_nodes": launcher == "node",
        "in_engine": _is_in_engine(plan),  # srun starts the ranks in their containers
        "srun": starter == "srun",
        "other_starter": plan.scheduler != "local" and starter != "srun",
        "one_by_one": plan.launch.plain and one_by_one,
        "lead": keeper and one_by_one,
        "keeper": keeper,  # the launcher of a node is below one
        "ends_by_order": starter == "mpiexec-mpich" and several,  # Hydra ends no other node
        "mpi": starter in _MPI and starts_nodes,
        "agent": starter in _NEED_AGENT and starts_nodes,
    }


def _of_the_software(plan: Plan) -> dict[str, bool]:
    """What the program needs on each node."""
    software, is_step = plan.software, plan.engine_traits.is_step
    return {
        "container": software.container is not None or software.stage == "squashfs",
        "own_step": is_step and not _is_in_engine(plan),  # the container is one
        "pyxis": plan.engine == "pyxis",
        "trainer": plan.program.kind == "trainer" and not plan.hosts,
        "workspace": software.workspace is not None,
        "stage": software.stage is not None,
        "image": software.stage == "squashfs",
        "gpus": plan.checked_gpus > 0,
        "plugin": plan.shows_plugin and _has_roll_call(plan),  # NCCL's for libfabric
        "torch": plan.needs_torch,
    }


def _of_what_happens(plan: Plan) -> dict[str, bool]:
    """What the job does while the ranks run, and what it survives."""
    launch, may_lose = plan.launch, _may_lose(plan)
    requeues = launch.requeue and plan.scheduler == "slurm"
    restarts_all = launch.max_restarts > 0 and not may_lose
    waits = launch.signal or launch.max_restarts or _is_in_engine(plan) or may_lose
    return {
        "warns": launch.signal is not None,  # before the walltime
        "local_files": plan.local_files,  # the ranks' files are on their node's own disk
        "stalls": launch.stall is not None,
        "asks_nccl": plan.asks_nccl,  # before a job that hangs is ended
        "requeues": requeues,
        "excludes": plan.excludes,
        "may_lose": may_lose and plan.scheduler != "local",  # a node, and the job goes on
        "picks_nodes": plan.request.spares > 0 or (may_lose and plan.scheduler != "local"),
        # The script does something when the ranks have ended.
        "supervised": _has_roll_call(plan) and bool(waits),
        "restarts_all": restarts_all,  # if a torchrun is killed
        # The job, or all of its nodes: not after a 93.
        "starts_again": requeues or (restarts_all and plan.scheduler != "local"),
    }


def _needs_hosts(plan: Plan) -> bool:
    launch, interface = plan.launch, plan.network.interface
    by_route = plan.request.nodes > 1 and not interface
    return not launch.plain or by_route or launch.starter != "srun"


def _has_roll_call(plan: Plan) -> bool:
    return not (plan.launch.plain or plan.scheduler == "local" or _is_one_torchrun(plan))


def _has_keeper(plan: Plan) -> bool:
    launch = plan.launch
    if launch.plain or plan.scheduler == "local" or _is_in_engine(plan):
        return False
    return launch.starter != "srun" or bool(launch.signal or launch.stall or _may_lose(plan))


def _is_in_engine(plan: Plan) -> bool:
    return plan.engine == "ce" and plan.launch.launcher == "srun"


def _may_lose(plan: Plan) -> bool:
    return plan.elastic or plan.replaces


def _is_one_torchrun(plan: Plan) -> bool:
    launch = plan.launch
    beside = (launch.plain, launch.signal, launch.max_restarts, launch.stall, launch.requeue)
    is_one = plan.request.nodes == 1 and launch.launcher == "torchrun"
    outside = launch.starter != "srun" or plan.software.stage
    is_simple = not (plan.engine_traits.is_step or outside or any(beside))
    return plan.scheduler == "slurm" and is_one and is_simple
