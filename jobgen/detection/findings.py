"""All that is known of a cluster when its profile is written."""

from dataclasses import dataclass

from jobgen.detection.cluster import Cluster, Nodes, Partition, own_feature
from jobgen.detection.hardware import Hardware
from jobgen.profiles.model import Launch
from jobgen.schedulers import GRACE_LESS, get_scheduler


@dataclass(frozen=True)
class Findings:
    """What the login node says, and one compute node if it was asked."""

    cluster: Cluster
    partition: Partition
    why: str  # the partition was chosen
    kinds: tuple[Nodes, ...]  # of the partition; the profile is for the first one
    account: str = ""
    directives: tuple[str, ...] = ()
    hardware: Hardware | None = None
    sites: tuple[str, ...] = ()
    module_notes: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()

    @property
    def kind(self) -> Nodes:
        return self.kinds[0]

    @property
    def constraint(self) -> str:
        """What chooses the kind among the partition's; "" if nothing does, or nothing has to."""
        return own_feature(self.kind, self.kinds[1:]) if self.needs_constraint else ""

    @property
    def needs_constraint(self) -> bool:
        """Whether nodes of another kind could get the job: those without GPUs cannot."""
        return any(other.gpus or not self.kind.gpus for other in self.kinds[1:])

    @property
    def environments(self) -> list[tuple[str, ...]]:
        """Those with torch that the node sees; if it has GPUs, a torch for the CPU comes last."""
        found = self.hardware.environments if self.hardware else ()
        return sorted(found, key=lambda each: bool(self.kind.gpus) and each[1].endswith("+cpu"))

    @property
    def kill_delay(self) -> int | None:
        """What the scheduler leaves the ranks of a job that it ends; None for the default."""
        delay = self.partition.kill_delay
        return None if delay == get_scheduler(self.cluster.scheduler).KILL_DELAY else delay

    @property
    def stop_grace(self) -> int | None:
        """The most that `kill_delay` leaves the ranks, if it is less than the default."""
        grace = (self.kill_delay or 0) - GRACE_LESS
        return grace if 0 <= grace < Launch().stop_grace else None
