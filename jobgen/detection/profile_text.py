"""The profile's text: each value with what it is from, and what is not known as a comment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jobgen.detection.cluster import Cluster, Nodes, Partition, own_feature
from jobgen.detection.hardware import FABRICS, Hardware, gpu_vendor
from jobgen.detection.yaml_lines import Section
from jobgen.profiles.model import Launch
from jobgen.profiles.schema.document import FILE
from jobgen.schedulers import GRACE_LESS, get_scheduler

ASK = "jobgen detect --probe asks a node"
MANY = 20  # partitions or names in a comment


@dataclass(frozen=True)
class Findings:
    """All that is known when the profile is written."""

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
    def words(self) -> tuple[str, str]:
        """The scheduler's name, and what it calls a partition."""
        slurm = self.cluster.scheduler == "slurm"
        return ("Slurm", "partition") if slurm else ("PBS", "queue")


def profile_text(found: Findings) -> str:
    """The whole profile."""
    sections = (
        _head(found),
        _limits(found),
        _node(found),
        _request(found),
        _network(found),
        _software(found),
        _launch(found),
    )
    return "".join(section.text() for section in sections)


def _head(found: Findings) -> Section:
    cluster, partition, kind = found.cluster, found.partition, found.kind
    scheduler, word = found.words
    section = Section("")
    section.comment(f"yaml-language-server: $schema={FILE}")
    section.comment(
        f"That line is for editors: with the file of `jobgen profiles schema > {FILE}` beside this "
        "one, they complete and check the keys."
    )
    version = f" {cluster.version}" if cluster.version else ""
    section.comment(
        f"Written by `jobgen detect`: {word} {partition.name} ({found.why}) of the cluster "
        f"{cluster.name or 'without a name'}, {scheduler}{version}. Try it: "
        "jobgen profiles validate FILE; jobgen sbatch --profile FILE -N 2".replace(
            "sbatch", "qsub" if word == "queue" else "sbatch"
        )
    )
    if found.sites:
        section.comment(
            f"jobgen has a profile from the documentation of a site with such a name: "
            f"jobgen profiles show {found.sites[0]}"
            + (f" (also: {', '.join(found.sites[1:])})" if found.sites[1:] else "")
        )
    gpus = f"{kind.gpu_count} a node"
    section.key("description", f"{cluster.name}, {word} {partition.name}: {gpus}, {scheduler}")
    _extends(found, section)
    section.key("scheduler", cluster.scheduler)
    others = [each for each in cluster.partitions if each.name != partition.name]
    if others:
        section.comment(f"Others; for one of them: jobgen detect --{word} NAME")
        for each in others[:MANY]:
            section.comment(f"  {each.name}: {each.kinds[0].title if each.kinds else 'no nodes'}")
        section.comments([f"  and {len(others) - MANY} more"] * (len(others) > MANY))
    section.key(word, partition.name)
    section.comments(partition.notes)
    _account(found, section)
    return section


def _extends(found: Findings, section: Section) -> None:
    hardware = found.hardware
    if hardware and hardware.fabric:
        listed = ", ".join(hardware.adapters) or "no adapter of InfiniBand or Slingshot"
        section.key("extends", FABRICS[hardware.fabric], f"{hardware.host} has {listed}.")
        return
    bases = ", ".join(FABRICS.values())
    if hardware:
        names = ", ".join(name for name, _ in hardware.interfaces)
        section.comment(
            f"Not known: the fabric. {hardware.host} has the interfaces {names or 'none'}, and "
            f"{', '.join(hardware.adapters) or 'no adapter'} in /sys/class; ask your site."
        )
    else:
        section.comment(f"Not known: the fabric, and what NCCL or RCCL need on it; {ASK}.")
    section.comment(f"extends: one of {bases}")


def _account(found: Findings, section: Section) -> None:
    cluster = found.cluster
    if cluster.account_note:
        section.comment(f"{cluster.account_note}.")
    if found.account:
        only = "The only account that sacctmgr shows for you."
        section.key("account", found.account, only * (cluster.accounts == (found.account,)))
    elif cluster.accounts:
        section.comment(f"account: one of {_listed(cluster.accounts)} (sacctmgr show assoc)")
    else:
        section.comment("account: NAME  # where the site demands one")


def _limits(found: Findings) -> Section:
    section = Section("limits")
    partition, kind = found.partition, found.kind
    nodes = min(partition.max_nodes or kind.count, kind.count)
    why = f"The {found.words[1]} allows {partition.max_nodes} nodes." if partition.max_nodes else ""
    if nodes == kind.count:
        why = f"There are {kind.count} of them in the {found.words[1]}: {kind.place}"
    section.key("nodes", nodes, why)
    if partition.max_time:
        section.key("time", partition.max_time)
    else:
        section.comment(f"time: the {found.words[1]} has no limit of its own")
    return section


def _node(found: Findings) -> Section:
    section = Section("node")
    kind, others = found.kind, found.kinds[1:]
    if others:
        section.comment(f"Nodes of another kind in the {found.words[1]}; this is {kind.title}")
        for other in others:
            feature = own_feature(other, [each for each in found.kinds if each != other])
            chosen = f"  (request.constraint: {feature})" if feature else ""
            section.comment(f"  {other.title}{chosen}")
    section.comments(kind.notes)
    section.key("cpus", kind.cpus)
    section.key("gpus", kind.gpus)
    _gpu(found, section)
    if kind.memory:
        section.key("memory", f"{kind.memory}M")
    if found.hardware and found.hardware.arch:
        section.key("arch", found.hardware.arch, f"As {found.hardware.host} says.")
    elif kind.arch:
        section.key("arch", kind.arch, f"As Slurm shows for {kind.example}.")
    else:
        section.comment(f"Not known: what `uname -m` prints on a node; {ASK}.")
        section.comment("arch: x86_64")
    return section


def _gpu(found: Findings, section: Section) -> None:
    kind, hardware = found.kind, found.hardware
    if hardware and hardware.gpu and kind.gpus:
        names = ", ".join((*hardware.gpu_names[:2], hardware.driver)).strip(", ")
        section.key("gpu", hardware.gpu, f"As {hardware.host} says: {names or 'by its devices'}.")
    elif guess := gpu_vendor(kind.gpu_type or kind.model) if kind.gpus else "":
        name = kind.gpu_type or kind.model
        section.key("gpu", guess, f"Guessed from the name {name}; {ASK}.")
    elif kind.gpus:
        answer = f"{hardware.host} shows none to a job" if hardware else ASK
        section.key(
            "gpu",
            "none",
            f"Not known: nvidia, amd or intel ({answer}). With `none` the job requests the GPUs, "
            "but its ranks run on the CPU.",
        )
    if kind.gpu_type:
        section.key("gpu_type", kind.gpu_type)


def _request(found: Findings) -> Section:
    section = Section("request")
    cluster, partition, kind = found.cluster, found.partition, found.kind
    if kind.gpus and cluster.gpu_options:
        section.key("gpu_option", cluster.gpu_options[0], cluster.gpu_note)
    elif cluster.gpu_note:
        section.comment(cluster.gpu_note)
    if partition.whole_nodes:
        section.key("exclusive", True, f"{partition.whole_nodes}: a job gets whole nodes.")
    else:
        section.comment("exclusive: true  # for whole nodes; other jobs may run on them without it")
    if partition.default_time:
        section.comment(f"time: {partition.default_time}  # what a job gets without -t")
    if found.directives:
        section.key("directives", list(found.directives))
    if cluster.qos:
        section.comment(f"qos: one of {_listed(cluster.qos)} (sacctmgr show assoc)")
    _constraint(found, section)
    return section


def _constraint(found: Findings, section: Section) -> None:
    kind = found.kind
    if found.constraint:
        section.key("constraint", found.constraint, "It chooses this kind of nodes.")
    elif found.needs_constraint:
        section.comment("constraint: no feature that only this kind of nodes has.")
    mine = sorted(kind.features - {found.constraint})
    if found.cluster.scheduler == "pbs" and mine:
        section.comment("The site's own resources of these nodes; a job may have to request some:")
        section.comments(f"  chunk: {{{each.replace('=', ': ', 1)}}}" for each in mine[:MANY])
    elif mine:
        section.comment(f"Features of all these nodes: {_listed(mine)}")
    if kind.some_features:
        section.comment(f"Of some of these nodes only: {_listed(sorted(kind.some_features))}")


def _network(found: Findings) -> Section:
    section = Section("network")
    hardware = found.hardware
    if not hardware:
        section.comment(
            f"Not known: the interface (`ip -o -4 addr` on a node); {ASK}. Without it, the script "
            "uses the one that the host name resolves to."
        )
        section.comment("interface: NAME")
        return section
    listed = ", ".join(f"{name} {address}" for name, address in hardware.interfaces)
    section.comment(f"Interfaces of {hardware.host}: {listed or 'none with an address'}.")
    if hardware.host_interface:
        section.comment(f"Its host name belongs to {hardware.host_interface}.")
    if hardware.interface:
        section.key(
            "interface", hardware.interface, "Guessed from its name: the first of the fast ones."
        )
    else:
        section.comment("Without `interface`, the script uses the one of the host name.")
    return section


def _software(found: Findings) -> Section:
    section = Section("software")
    section.comments(found.module_notes)
    section.comment("modules: [NAME, …]  # or venv: /PATH, or conda: NAME")
    hardware = found.hardware
    if found.engines:
        section.comment(f"Engines of containers on this login node: {', '.join(found.engines)}")
    if hardware:
        section.comment(f"On {hardware.host}: {', '.join(hardware.engines) or 'none on PATH'}")
    if found.engines or (hardware and hardware.engines):
        section.comment("container: {engine: NAME, image: NAME}  # docs/containers.md")
    return section


def _launch(found: Findings) -> Section:
    section = Section("launch")
    if found.cluster.binding:
        section.comment(
            f"{found.cluster.binding}: srun binds its tasks to cores. A torchrun is one task with "
            "all cores of the job on a node, unless the site's default is another: cpu_bind: none"
        )
    _kill_delay(found, section)
    return section


def _kill_delay(found: Findings, section: Section) -> None:
    """What the scheduler leaves the ranks of a job that it ends, where it is not the default."""
    delay, usual = found.partition.kill_delay, get_scheduler(found.cluster.scheduler).KILL_DELAY
    if delay is None or delay == usual:
        return
    source = "KillWait" if found.cluster.scheduler == "slurm" else "The queue's kill_delay"
    section.key("kill_delay", delay, f"{source}: seconds between TERM and KILL.")
    if 0 <= delay - GRACE_LESS < Launch().stop_grace:
        section.key("stop_grace", delay - GRACE_LESS, "The most that this leaves the ranks.")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:MANY]) + (" …" if len(names) > MANY else "")
