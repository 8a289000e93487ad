"""Finds the features of a plan, by which the parts of its script are chosen (`parts`)."""

from jobgen.planning.plan import Plan

_BY_COMMAND = ("pbs_tmrsh", "pbsdsh", "ssh")  # starters that start one node each
_NEED_AGENT = ("mpiexec-openmpi", "mpiexec-mpich")  # pbs_tmrsh starts their daemons
_MPI = (*_NEED_AGENT, "mpiexec-pals", "mpirun")  # their commands may come from a module


def features(plan: Plan) -> frozenset[str]:
    """Returns the features of a plan: the words that the rows have in `having` and `without`."""
    words = {
        plan.scheduler: True,
        **_of_the_nodes(plan),
        **_of_the_start(plan),
        **_of_what_happens(plan),
    }
    return frozenset(word for word, holds in words.items() if holds)


def _of_the_nodes(plan: Plan) -> dict[str, bool]:
    """The features of the nodes: their number, their work before the ranks start, their needs."""
    request, launch, software = plan.request, plan.launch, plan.software
    torchrun, several = launch.launcher == "torchrun", request.nodes > 1
    is_named = bool(plan.network.interface) or not several
    is_bare = _is_one_torchrun(plan) or plan.scheduler == "local"
    return {
        "plain": launch.plain,
        "checked": not launch.plain,
        "one_torchrun": _is_one_torchrun(plan),  # one torchrun on one node, and nothing beside it
        "several": several,  # more than one node
        "named": is_named,  # no node has to detect its network interface
        # Each node runs a copy of the script.
        "copied": (several or not torchrun or not launch.plain) and not is_bare,
        # The names of all nodes are needed.
        "hosts": not (launch.plain and is_named and launch.starter == "srun"),
        "leaves_files": several or not torchrun or plan.program.kind == "trainer",
        "roll_call": _has_roll_call(plan),
        "array": bool(request.array or launch.chain),  # several jobs with one number
        "spares": request.spares > 0,
        "elastic": plan.elastic,
        "ordered": bool(plan.ordered_at),  # a file of the user has the order of the nodes
        # ---- what the program needs on each node
        "container": software.container is not None or software.stage == "squashfs",
        "own_step": plan.engine_traits.is_step and not _is_in_engine(plan),  # the container's step
        "pyxis": plan.engine == "pyxis",
        "trainer": plan.program.kind == "trainer" and not plan.hosts,
        "workspace": software.workspace is not None,  # the program is in a folder of its own, …
        "code": bool(software.workspace and not software.workspace.url),  # a copy from the store
        "stage": software.stage is not None,
        "image": software.stage == "squashfs",
        "gpus": plan.checked_gpus > 0,
        "plugin": plan.shows_plugin and _has_roll_call(plan),  # NCCL's plugin for libfabric
        "torch": plan.needs_torch,
    }


def _of_the_start(plan: Plan) -> dict[str, bool]:
    """The features of the start: the starter of the nodes, and the launcher of the ranks."""
    launch, launcher, starter = plan.launch, plan.launch.launcher, plan.launch.starter
    can_have_keeper = not (launch.plain or plan.scheduler == "local" or _is_in_engine(plan))
    ordered = launch.signal or launch.stall or launch.chain
    needs_keeper = bool(starter != "srun" or ordered or _may_lose(plan))
    several, keeper = plan.request.nodes > 1, can_have_keeper and needs_keeper
    one_by_one = several and starter in _BY_COMMAND
    starts_nodes = several or launcher == "mpiexec"
    return {
        "torchrun": launcher == "torchrun",
        "mpiexec": launcher == "mpiexec",
        "ranks": launcher in ("srun", "mpiexec"),  # these start each rank themselves
        "program_on_nodes": launcher == "node",
        "in_engine": _is_in_engine(plan),  # srun starts the ranks in their containers
        "srun": starter == "srun",
        "other_starter": plan.scheduler != "local" and starter != "srun",
        "one_by_one": launch.plain and one_by_one,
        "lead": keeper and one_by_one,
        "keeper": keeper,  # a keeper starts the launcher of a node
        "ends_by_order": starter == "mpiexec-mpich" and several,  # Hydra does not end other nodes
        "mpi": starter in _MPI and starts_nodes,
        "agent": starter in _NEED_AGENT and starts_nodes,
    }


def _of_what_happens(plan: Plan) -> dict[str, bool]:
    """The features of a running job: its signals, its checks, and the failures that it survives."""
    launch, may_lose = plan.launch, _may_lose(plan)
    requeues = launch.requeue and plan.scheduler == "slurm"
    restarts_all = launch.max_restarts > 0 and not may_lose
    waits = launch.signal or launch.max_restarts or _is_in_engine(plan) or may_lose
    return {
        "warns": launch.signal is not None,  # warns the ranks before the walltime
        "local_files": plan.local_files,  # the ranks' files are on their node's own disk
        "stalls": launch.stall is not None,
        "asks_nccl": plan.asks_nccl,  # asks NCCL before it ends a job that hangs
        "requeues": requeues,
        "chain": launch.chain is not None,  # the training goes on in the next job of an array
        "excludes": plan.excludes,
        "may_lose": may_lose and plan.scheduler != "local",  # a node may fail, and the job goes on
        "picks_nodes": plan.request.spares > 0 or (may_lose and plan.scheduler != "local"),
        # The script does something when the ranks have ended.
        "supervised": _has_roll_call(plan) and bool(waits),
        "restarts_all": restarts_all,  # if a torchrun is killed, all start again
        # The job, or all of its nodes, may start again, but not after the exit status 93.
        "starts_again": requeues or (restarts_all and plan.scheduler != "local"),
    }


def _has_roll_call(plan: Plan) -> bool:
    return not (plan.launch.plain or plan.scheduler == "local" or _is_one_torchrun(plan))


def _is_in_engine(plan: Plan) -> bool:
    return plan.engine == "ce" and plan.launch.launcher == "srun"


def _may_lose(plan: Plan) -> bool:
    return plan.elastic or plan.replaces


def _is_one_torchrun(plan: Plan) -> bool:
    launch = plan.launch
    launched = (launch.plain, launch.signal, launch.max_restarts, launch.stall)
    beside = (*launched, launch.requeue, launch.chain)
    is_one = plan.request.nodes == 1 and launch.launcher == "torchrun"
    outside = launch.starter != "srun" or plan.software.stage
    is_simple = not (plan.engine_traits.is_step or outside or any(beside))
    return plan.scheduler == "slurm" and is_one and is_simple
