"""A cluster as records: its partitions or queues, their kinds of nodes, and the choice of one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from jobgen.detection.hardware import Hardware
from jobgen.profiles.model import Launch
from jobgen.profiles.search import profile_files
from jobgen.schedulers import GRACE_LESS, get_scheduler

MOST_NAMES = 60  # characters of node names in a comment
SIMILAR = 1.1  # nodes of one kind may differ by this factor in memory: firmware reserves some of it

# From names on a cluster to the name of a bundled profile. A key is the first label of the PBS
# server's name, Slurm's ClusterName, or a partition, for clouds where customers name the cluster.
CLUSTERS = {
    "desched1": "derecho",  # NCAR/HPC-Docs, docs/pbs/job-scripts/index.md: the job 1473351.desched1
    "polaris-pbs-01": "polaris",  # argonne-lcf/user-guides, docs/running-jobs/index.md: ids of jobs
    "aurora-pbs-0001": "aurora",  # argonne-lcf/user-guides, docs/aurora/debugging/gdb4hpc.md
    # eth-cscs/cscs-docs, docs/access/vscode.md: the clusters of Alps with GH200
    "clariden": "alps",
    "daint": "alps",
    "santis": "alps",
    # GoogleCloudPlatform/cluster-toolkit, examples/machine-learning/a3-megagpu-8g
    "a3mega": "gcp-a3mega",
}


@dataclass(frozen=True)
class Nodes:
    """Nodes with equal hardware: a group that the scheduler lists, or a kind merged of groups."""

    count: int
    cpus: int
    memory: int = 0  # MiB; 0: not known
    gpus: int = 0
    gpu_type: str = ""
    features: frozenset[str] = frozenset()  # that all nodes have: Slurm's, or PBS's NAME=VALUE
    some_features: frozenset[str] = frozenset()  # that only some of the nodes have
    model: str = ""  # the name of a GPU that is found among the features
    threads: int = 1  # hardware threads of each core
    arch: str = ""
    names: str = ""
    example: str = ""  # the name of one node, which is up if any node is
    is_up: bool = True
    notes: tuple[str, ...] = ()  # explain how the numbers above were found

    @property
    def place(self) -> str:
        """The names of the nodes, cut after MOST_NAMES characters."""
        return self.names if len(self.names) <= MOST_NAMES else f"{self.names[: MOST_NAMES - 1]}…"

    @property
    def gpu_count(self) -> str:
        """The number of GPUs in words, such as: 4 GPUs."""
        return f"{self.gpus or 'no'} GPU{'s' * (self.gpus != 1)}"

    @property
    def title(self) -> str:
        """The nodes in one line, such as: 3 nodes, 128 CPUs, 500G, 8 GPUs a100: dgx[01-03]."""
        parts = [f"{self.count} node{'s' * (self.count != 1)}", f"{self.cpus} CPUs"]
        parts += [f"{self.memory // 1024}G"] * bool(self.memory)
        parts.append(f"{self.gpu_count} {self.gpu_type or self.model}".rstrip())
        return ", ".join(parts) + (f": {self.place}" if self.names else "")


@dataclass(frozen=True)
class Partition:
    """A partition of Slurm, or a queue of PBS."""

    name: str
    kinds: tuple[Nodes, ...] = ()
    is_default: bool = False
    is_open: bool = True  # accepts jobs of any user
    whole_nodes: str = ""  # the setting that gives every job whole nodes; "" if there is none
    max_nodes: int | None = None
    max_time: str = ""
    default_time: str = ""
    cpus_per_gpu: int | None = None
    least_time: str = ""
    kill_delay: int | None = None  # seconds between TERM and KILL; None if they are not known
    notes: tuple[str, ...] = ()

    @property
    def most_nodes(self) -> int | None:
        """The number of nodes of the largest job: the partition's limit, or all of its nodes."""
        count = sum(kind.count for kind in self.kinds)
        return min(self.max_nodes or count, count) or self.max_nodes

    @property
    def gpu_nodes(self) -> int:
        return sum(kind.count for kind in self.kinds if kind.gpus)


@dataclass(frozen=True)
class Cluster:
    """A cluster, as its login node sees it."""

    scheduler: str
    name: str
    version: str = ""
    partitions: tuple[Partition, ...] = ()
    gpu_option: str = ""  # how a job requests GPUs
    gpu_note: str = ""
    binding: str = ""
    accounts: tuple[str, ...] = ()
    qos: tuple[str, ...] = ()
    account_note: str = ""


@dataclass(frozen=True)
class Findings:
    """All that a profile is written from: facts from the login node, and from one compute node."""

    cluster: Cluster
    partition: Partition  # the chosen one; the profile is for the first kind of its nodes
    why: str  # why the partition was chosen
    account: str = ""
    directives: tuple[str, ...] = ()
    hardware: Hardware | None = None  # of the compute node; None without --probe
    site: str = ""  # the bundled profile whose login node this is
    sites: tuple[str, ...] = ()  # bundled profiles that may be for this cluster
    module_notes: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()

    @property
    def kind(self) -> Nodes:
        return self.partition.kinds[0]

    @property
    def constraint(self) -> str:
        """The feature that selects this kind of nodes; "" if there is none, or none is needed."""
        return own_feature(self.kind, self.partition.kinds[1:]) if self.needs_constraint else ""

    @property
    def needs_constraint(self) -> bool:
        """Whether the job could start on another kind: jobs with GPUs need a kind with GPUs."""
        return any(other.gpus or not self.kind.gpus for other in self.partition.kinds[1:])

    @property
    def environments(self) -> list[tuple[str, ...]]:
        """The environments with torch on the compute node; with GPUs, builds for CPUs come last."""
        found = self.hardware.environments if self.hardware else ()
        return sorted(found, key=lambda each: bool(self.kind.gpus) and each[1].endswith("+cpu"))

    @property
    def kill_delay(self) -> int | None:
        """Seconds from TERM to KILL when the scheduler ends a job; None for the default."""
        delay = self.partition.kill_delay
        return None if delay == get_scheduler(self.cluster.scheduler).kill_delay else delay

    @property
    def stop_grace(self) -> int | None:
        """The ranks' longest grace in seconds within `kill_delay`, if shorter than the default."""
        grace = (self.kill_delay or 0) - GRACE_LESS
        return grace if 0 <= grace < Launch().stop_grace else None


def kinds_of(groups: Iterable[Nodes]) -> tuple[Nodes, ...]:
    """The kinds into which the groups are merged: those with GPUs first, then by node count."""
    found: dict[tuple[object, ...], list[list[Nodes]]] = {}
    for group in sorted(groups, key=lambda each: each.memory):
        shape = (group.cpus, group.gpus, group.gpu_type, group.model, group.threads)
        same = found.setdefault(shape, [])
        if not same or group.memory > same[-1][0].memory * SIMILAR:
            same.append([])
        same[-1].append(group)
    kinds = [_merged(groups) for same in found.values() for groups in same]
    kinds.sort(key=lambda each: (not each.gpus, -each.count, -each.gpus, each.memory))
    return tuple(kinds)


def _merged(groups: Sequence[Nodes]) -> Nodes:
    groups = sorted(groups, key=lambda each: (not each.is_up, -each.count))
    everywhere = frozenset.intersection(*(each.features for each in groups))
    anywhere = frozenset.union(*(each.features for each in groups))
    return replace(
        groups[0],
        count=sum(each.count for each in groups),
        memory=min(each.memory for each in groups),
        features=everywhere,
        some_features=anywhere - everywhere,
        names=",".join(dict.fromkeys(each.names for each in groups)),
    )


def own_feature(kind: Nodes, others: Iterable[Nodes]) -> str:
    """A feature that all nodes of a kind have and no node of the others has; "" if none exists."""
    elsewhere = {name for other in others for name in other.features | other.some_features}
    own = sorted(kind.features - elsewhere)
    named = [name for name in own if kind.model and kind.model in name.lower()]
    return (named or own or [""])[0]


def chosen_partition(partitions: Sequence[Partition]) -> tuple[Partition, str]:
    """The partition that a profile is for if the user names none, and the reason."""
    usable = [each for each in partitions if each.is_open and each.kinds] or list(partitions)
    default = next((each for each in usable if each.is_default), None)
    if default and default.gpu_nodes:
        return default, "the default"
    most = max(usable, key=lambda each: each.gpu_nodes)
    if most.gpu_nodes:
        why = f", and the default, {default.name}, has none" if default else ""
        return most, f"the one with the most nodes with GPUs{why}"
    return (default, "the default") if default else (usable[0], "the first one")


def bundled_sites(cluster: str, partitions: Iterable[str]) -> list[str]:
    """The names of the bundled profiles that may be for a cluster.

    The name of the cluster leads to a profile: frontier to sites/frontier, lumi to sites/lumi-g.
    CLUSTERS has the clusters with other names.
    """
    label = cluster.lower().partition(".")[0]
    wanted = {CLUSTERS.get(label, label), *(CLUSTERS.get(each, "") for each in partitions)} - {""}
    names = (name.partition("/") for name in profile_files() if name.startswith("sites/"))
    return [
        f"sites/{name}"
        for _, _, name in names
        if any(name == each or name.startswith(f"{each}-") for each in wanted)
    ]
