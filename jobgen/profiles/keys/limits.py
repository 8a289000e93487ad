"""The keys of a profile below `limits`: the most that one job gets in its partition and QOS."""

# No `annotations` from __future__: `typing` compiles each annotation of a tuple that is text.
from collections.abc import Mapping
from typing import Any, NamedTuple

from jobgen.profiles.kinds import NODES, WORD, Bool, Int, Text
from jobgen.profiles.records import MapOf, Record, record, row
from jobgen.profiles.units import Walltime

_NODES = row(NODES, "The most nodes of one job.")
_MIN_NODES = row(NODES, "The fewest nodes of one job.")
_TIME = row(Walltime(), "The longest walltime.", example='"1:30:00"')
_TIME_BY_NODES = row(
    MapOf(Walltime(), Text("[1-9][0-9]{0,6}", "a number of nodes")),
    "The longest walltimes of smaller jobs: each number is the most nodes of a job that gets no "
    "more than the time beside it. Jobs with more nodes get `time`.",
    dict,
    example='{91: "2:00:00", 183: "6:00:00"}',
)
_GPUS = row(Int(0), "The most GPUs of one job, on all its nodes together.")
_GPUS_PER_NODE = row(Int(0, 64), "The most GPUs on a node; default: node.gpus.")
_SHARED = row(
    Bool(),
    "Whether other jobs may be on the nodes of a job. `false`: the site gives whole nodes, also to "
    "a job that does not request them.",
)


@record
class PartitionLimits(NamedTuple):
    """The most that one job gets in a partition, a queue or a QOS."""

    nodes: int | None = _NODES
    min_nodes: int | None = _MIN_NODES
    time: str | None = _TIME
    time_by_nodes: Mapping[str, str] = _TIME_BY_NODES
    gpus: int | None = _GPUS
    gpus_per_node: int | None = _GPUS_PER_NODE
    shared: bool | None = _SHARED


@record
class Limits(NamedTuple):
    """The most that one job gets. Unset: not known, and not checked."""

    nodes: int | None = _NODES
    min_nodes: int | None = _MIN_NODES
    time: str | None = _TIME
    time_by_nodes: Mapping[str, str] = _TIME_BY_NODES
    gpus: int | None = _GPUS
    gpus_per_node: int | None = _GPUS_PER_NODE
    shared: bool | None = _SHARED
    partitions: Mapping[str, PartitionLimits] = row(
        MapOf(Record(PartitionLimits), WORD),
        "Partitions (PBS: queues) with limits of their own: there, these count instead of those "
        "above.",
        dict,
        example='{small: {nodes: 4, time: "72:00:00", shared: true}}',
    )

    qos: Mapping[str, PartitionLimits] = row(
        MapOf(Record(PartitionLimits), WORD),
        "Slurm: QOS with limits of their own. A limit that a job's QOS has counts instead of its "
        "partition's.",
        dict,
        example='{debug: {nodes: 8, time: "0:30:00"}}',
    )

    def of(self, partitions: str | None, qos: str | None) -> "list[JobLimits]":
        """The limits of a job in a partition or queue, or in each of Slurm's list, with its QOS."""
        places = [
            (f"limits.partitions.{name}", self.partitions[name])
            if name in self.partitions
            else ("limits", self)
            for name in (partitions or "").split(",")
        ]
        own = self.qos.get(qos or "")
        first = [(f"limits.qos.{qos}", own)] if own else []
        return [JobLimits([*first, place]) for place in places]


class JobLimits(NamedTuple):
    """What limits a job in one partition or queue: groups of limits with their paths."""

    groups: "list[tuple[str, Limits | PartitionLimits]]"  # the first that has a limit counts

    def find(self, key: str, nodes: int | None = None) -> tuple[str, Any]:
        """The path and the value of the limit `key` of a job with so many nodes; None if unset.

        Without a number of nodes, the longest time that a job can have.
        """
        for path, limits in self.groups:
            by_nodes = limits.time_by_nodes if key == "time" else {}
            for most in sorted(by_nodes, key=int):
                if nodes and nodes <= int(most):
                    return f"{path}.time_by_nodes.{most}", by_nodes[most]
            if (value := getattr(limits, key)) is not None:
                return f"{path}.{key}", value
        return f"{path}.{key}", None
