"""Decides which parts of the machinery a script has, by one table for all schedulers.

A part is plain bash: a file in templates/machinery/, or a section of short.sh there if it has a few
lines. Its row says which scripts have the part, by the words that `features` finds in a plan, and
which values of the script's upper part it reads. A script has its parts in the order of the rows. A
new feature of jobgen adds rows, and changes none.
"""

from functools import cache
from typing import NamedTuple

from jobgen.planning.plan import Plan

_BY_COMMAND = ("pbs_tmrsh", "pbsdsh", "ssh")  # starters that start one node each
_NEED_AGENT = ("mpiexec-openmpi", "mpiexec-mpich")  # pbs_tmrsh starts their daemons
_MPI = (*_NEED_AGENT, "mpiexec-pals", "mpirun")  # their commands may come from a module


class Part(NamedTuple):
    """A part of the machinery, with the scripts that have it and the values that it reads."""

    name: str  # of a section in short.sh, or of a file, without .sh
    having: str  # the part is in scripts with all these features, …
    without: str = ""  # … and with none of these
    values: str = ""  # values of the upper part that the part reads

    def is_for(self, found: frozenset[str]) -> bool:
        """Whether a script with these features has this part."""
        return found.issuperset(self.having.split()) and found.isdisjoint(self.without.split())


PARTS = (
    # ---- on any node: the node of this shell, and its number
    Part("path", "copied slurm"),
    Part("hosts", "copied hosts slurm", "ordered"),
    Part("hosts-in-order", "copied hosts slurm ordered", values="logs"),
    Part("path-pbs", "copied pbs"),
    Part("path-local", "local"),
    Part("one-node-begin", "one_torchrun"),
    Part("fail", "one_torchrun"),
    Part("one-node-enter", "one_torchrun"),
    Part("number-in-order", "checked copied srun ordered"),
    Part("task-number", "checked copied srun", "ordered"),
    Part("node-number", "plain copied srun", "in_engine ranks"),
    Part("node-number", "plain copied srun ranks", "in_engine named"),
    Part("node-zero", "plain in_engine", "named"),
    Part("lead-number", "copied lead"),
    Part("node/number-by-name", "copied other_starter", "lead"),
    Part("fail", "checked copied"),
    Part("fail", "plain mpi", "workspace"),
    Part("fail-local", "local"),
    Part("host-name", "plain workspace", "local"),
    Part("fail", "plain workspace", "local"),
    # ---- functions that nodes run
    Part("no-container", "checked torch", "container in_engine"),
    Part("stage/folder", "stage", "image"),
    Part("stage/image", "stage image"),
    Part("stage/copy", "stage"),
    Part("node/address-named", "copied named", values="interface"),
    Part("node/address-route", "copied", "named"),
    Part("node/check-gpus", "checked gpus", values="gpus gpu_api"),
    Part("node/check-torch", "checked torch", "gpus"),
    Part("no-torch", "checked", "torch gpus"),
    Part("find-plugin", "plugin"),
    Part("node/check-node", "roll_call", values="arch cores port program"),
    Part("node/run-node", "checked", "one_torchrun ranks", values="logs"),
    Part("node/run-rank", "checked ranks", "in_engine", values="logs"),
    Part("node/own-step", "checked own_step"),
    Part("node/pyxis", "checked pyxis"),
    Part("show-place", "picks_nodes srun"),
    Part("own-id", "may_lose srun"),
    Part("node/head-lost", "may_lose srun"),
    Part("node/evidence", "roll_call"),
    Part("no-core", "stalls"),
    Part("python", "keeper"),
    Part("node/keep", "keeper", "lead", values="stop_grace"),
    Part("node/end-by-order", "keeper ends_by_order"),
    Part("older-ranks", "chain keeper"),
    Part("node/local-files", "local_files", values="rank_files"),
    # ---- the batch script, from here on
    Part("job/record", "checked", values="job logs"),
    Part("job/end-job", "checked", values="job logs keep_logs jobgen"),
    Part("job/show-set-up", "checked", "local"),
    Part("enter-by-srun", "checked copied srun"),
    Part("enter", "checked copied other_starter"),
    Part("job/chain", "chain", values="stop_grace logs keep_logs"),
    Part("first-node-in-order", "roll_call ordered", values="nodes"),
    Part("first-node", "roll_call", "ordered", values="nodes"),
    Part("plain-enter", "plain copied", "in_engine"),
    Part("plain-end", "plain leaves_files", values="job logs"),
    Part("copy-script", "checked copied srun"),
    Part("copy-script", "plain copied srun", "in_engine"),
    Part("pack", "stage other_starter"),
    Part("start/copy-environment", "copied other_starter"),
    Part("host-file", "ordered"),
    Part("task-file", "ordered ranks"),
    Part("node-folders", "checked copied", "local_files"),
    Part("node-links", "local_files"),
    Part("start/lead", "lead", values="starter stop_grace join_timeout"),
    Part("start/mpiexec", "mpi"),
    Part("note-software", "mpi", "stage", values="start_ranks"),
    Part("note-software-staged", "mpi stage", values="start_ranks"),
    Part("software-noted", "mpi"),
    Part("start-there", "mpi"),
    Part("start-nodes-there", "mpi checked", values="each_node"),
    Part("each-node", "copied checked", "lead in_engine", values="each_node start_ranks"),
    Part("each-node-in-engine", "checked in_engine", values="each_node"),
    Part("each-rank", "plain copied", "one_by_one in_engine", values="start_ranks"),
    Part("ends-on-slurm", "roll_call srun"),
    Part("ends", "roll_call other_starter", values="stop_grace"),
    Part("own-id", "requeues", "may_lose"),
    Part("own-id", "checked slurm array", "requeues may_lose chain"),
    Part("record-code", "checked workspace"),
    Part("begin-record", "roll_call"),
    Part("end-all", "keeper ends_by_order"),
    Part("keeper", "keeper", "lead"),
    Part("agent", "agent"),
    Part("trainer", "trainer", values="job logs"),
    Part("end-older-ranks", "chain keeper"),
    Part("job/one-node", "one_torchrun"),
    Part("job/workspace", "workspace", "code", values="job"),
    Part("job/code", "code"),
    Part("check-code", "code", "chain"),
    Part("check-code-of-chain", "code chain"),
    Part("one-node-ready", "one_torchrun"),
    Part("one-node-ranks", "one_torchrun", values="start_ranks"),
    Part("pack", "stage", "other_starter"),
    Part("stage/send", "stage srun"),
    Part("job/exclude-nodes", "excludes", values="exclude_at_most"),
    Part("pyxis-end", "checked pyxis"),
    Part("job/roll-call", "roll_call", values="nodes join_timeout"),
    Part("address-in-order", "ordered"),
    Part("ready-nodes", "picks_nodes"),
    Part("nodes-in-order", "picks_nodes srun"),
    Part("neighbours", "spares srun"),
    Part("first-address", "picks_nodes"),
    Part("job/choose-nodes", "spares"),
    Part("chosen-nodes", "spares srun", "may_lose"),
    Part("chosen-nodes-by-lead", "spares lead", "may_lose"),
    Part("all-ready-nodes", "may_lose lead"),
    Part("warn-on-slurm", "warns slurm", "in_engine"),
    Part("warn-in-engine", "warns in_engine"),
    Part("job/warn-pbs", "warns pbs", values="warn_after"),
    Part("ask-nccl", "asks_nccl", values="ras_port"),
    Part("job/stall", "stalls", values="stall"),
    Part("watch-chain", "chain"),
    Part("job/run", "roll_call", "supervised"),
    Part("job/run-ranks", "supervised", "may_lose in_engine"),
    Part("job/run-ranks", "may_lose lead"),
    Part("job/run-with-spares", "may_lose srun"),
    Part("plain-in-engine", "plain in_engine"),
    Part("job/run-in-engine", "in_engine", values="logs nodes port start_ranks"),
    Part("ended-for-good", "starts_again"),
    Part("job/restart", "restarts_all torchrun", "local", values="max_restarts"),
    Part("job/restart-program", "restarts_all program_on_nodes", values="max_restarts"),
    Part("no-other-start", "starts_again"),
    Part("no-other-requeue", "requeues"),
    Part("job/requeue", "requeues warns"),
    Part("say-time-is-up", "warns", "requeues chain"),
    Part("exit", "supervised"),
    Part("remove-files", "local_files"),
    # ---- without a roll call
    Part("plain-one-node", "plain", "copied"),
    Part("exit", "plain in_engine"),
    Part("plain-start", "plain copied", "one_by_one in_engine"),
    Part("plain/start-one-by-one", "plain copied one_by_one", values="starter"),
    Part("start/local", "local", values="nodes port program"),
    Part("start/wait-local", "local", "elastic"),
    Part("wait-local-some", "local elastic"),
)


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


@cache  # most scripts of a repository have the same features
def chosen_parts(found: frozenset[str]) -> tuple[Part, ...]:
    """The parts of a script with these features, in their order."""
    return tuple(part for part in PARTS if part.is_for(found))


@cache
def used_values(parts: tuple[Part, ...]) -> frozenset[str]:
    """The values of the upper part that these parts read."""
    return frozenset(" ".join(part.values for part in parts).split())
