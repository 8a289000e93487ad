"""Reads PBS: the text of pbsnodes and qstat, which all versions print; JSON came with PBS 18."""

import re
from collections.abc import Mapping

from jobgen.detection.cluster import Cluster, Nodes, Partition, kinds_of
from jobgen.detection.commands import Answer, needed
from jobgen.detection.hardware import gpu_model
from jobgen.profiles.keys.request import asks_for_whole_nodes
from jobgen.submission.queues.pbs_queue import parse_attributes

# Resources that every PBS has (pbs_resources(7B)); others are the site's.
BUILT_IN = frozenset(
    "accelerator_memory accelerator accelerator_model aoe arch cput eoe energy file hbmem host"
    " hpmem mem naccelerators ncpus ncrays netwins ngpus nmics nodect pcput pmem"
    " preempt_targets pvmem vmem vnode vntype walltime PBScrayhost PBScraynid PBScrayorder"
    " PBScrayseg PBScraylabel".split()
)
Record = Mapping[str, str]


def commands(_: str = "") -> dict[str, tuple[str, ...]]:
    """The commands to run on a login node, by the names of their answers."""
    return {"nodes": ("pbsnodes", "-av"), "queues": ("qstat", "-Qf"), "server": ("qstat", "-Bf")}


def read_cluster(answers: Mapping[str, Answer]) -> Cluster:
    """The cluster in the answers to `commands`. Raises JobgenError if PBS does not answer."""
    vnodes, queues, servers = (
        parse_records(needed(answers[name])) for name in ("nodes", "queues", "server")
    )
    name, server = next(iter(servers.items()), ("", {}))
    default = server.get("default_queue", "")
    hosts = hosts_of(vnodes)
    has_gpus = any("resources_available.ngpus" in each for each in vnodes.values())
    note = "" if has_gpus else "No node has the resource ngpus: another way, or no GPUs."
    return Cluster(
        scheduler="pbs",
        name=name,
        version=server.get("pbs_version", ""),
        partitions=tuple(
            parse_queue(each, values, hosts, each == default, server)
            for each, values in queues.items()
        ),
        gpu_option="ngpus" if has_gpus else "none",
        gpu_note=note,
    )


def parse_records(text: str) -> dict[str, dict[str, str]]:
    """PBS's records (vnodes, queues, server) by name: attributes as NAME or NAME.RESOURCE."""
    records = (record.partition("\n") for record in re.split(r"\n+(?=\S)", text.strip()))
    return {
        re.sub(r"^(Queue|Server): *", "", head).strip(): parse_attributes(lines)
        for head, _, lines in records
        if head
    }


def hosts_of(vnodes: Mapping[str, Record]) -> list[tuple[Nodes, Record]]:
    """The hosts, each with the attributes of its first vnode; a host may have several vnodes."""
    parts: dict[str, list[Record]] = {}
    for name, values in vnodes.items():
        host = values.get("resources_available.host") or values.get("Mom") or name
        parts.setdefault(host.partition(",")[0], []).append({"": name, **values})
    return [(_host(host, records), records[0]) for host, records in parts.items()]


def _host(name: str, records: list[Record]) -> Nodes:
    def total(resource: str) -> int:
        return sum(_count(each.get(f"resources_available.{resource}", "")) for each in records)

    site = frozenset(
        f"{key.partition('.')[2]}={value}"
        for each in records
        for key, value in each.items()
        if key.startswith("resources_available.") and key.partition(".")[2] not in BUILT_IN
    )
    kib = sum(_kib(each.get("resources_available.mem", "")) for each in records)
    return Nodes(
        count=1,
        cpus=total("ncpus"),
        memory=kib // 1024,
        gpus=total("ngpus"),
        features=site,
        model=gpu_model(site),
        names=name,
        example=name,
        is_up=not re.search("down|offline|unknown|stale", records[0].get("state", "")),
    )


def parse_queue(
    name: str, values: Record, hosts: list[tuple[Nodes, Record]], is_default: bool, server: Record
) -> Partition:
    """The queue, with the kinds of nodes on which its jobs can run."""
    nodes = [each for each, record in hosts if _serves(name, values, record)]
    place = values.get("resources_default.place", "") or values.get("default_chunk.place", "")
    whole = f"resources_default.place={place}" if asks_for_whole_nodes(place) else ""
    sharing = {record.get("sharing", "") for each, record in hosts if each in nodes}
    if not whole and sharing and all("excl" in each for each in sharing):
        whole = f"sharing={sorted(sharing)[0]} on its nodes"

    def limit(kind: str, resource: str) -> str:
        key = f"{kind}.{resource}"
        return values.get(key, "") or server.get(key, "")

    acl = [key for key in ("acl_user_enable", "acl_group_enable") if values.get(key) == "True"]
    return Partition(
        name=name,
        kinds=kinds_of(nodes),
        is_default=is_default,
        is_open=values.get("enabled") == values.get("started") == "True" and not acl,
        whole_nodes=whole,
        max_nodes=_count(limit("resources_max", "nodect")) or None,
        max_time=limit("resources_max", "walltime"),
        default_time=limit("resources_default", "walltime"),
        least_time=values.get("resources_min.walltime", ""),
        kill_delay=_count(values["kill_delay"]) if "kill_delay" in values else None,
        notes=tuple(_notes(values)),
    )


def _notes(values: Record) -> list[str]:
    """Sentences about the queue's demands on a job for which a profile has no key."""
    notes = []
    if destinations := values.get("route_destinations"):
        notes.append(f"A routing queue: its jobs go to {destinations}, which have the limits.")
    if least := values.get("resources_min.walltime"):
        notes.append(f"A job has to request at least {least}.")
    if values.get("resources_min.nodect"):
        notes.append(f"A job has to have at least {values['resources_min.nodect']} nodes.")
    return notes


def _serves(queue: str, values: Record, vnode: Record) -> bool:
    """Whether a queue's jobs may use a vnode, by the vnode's own queue and by default_chunk."""
    if vnode.get("queue", queue) != queue:
        return False
    wanted = (
        (key.partition(".")[2], value)
        for key, value in values.items()
        if key.startswith("default_chunk.") and key.partition(".")[2] not in BUILT_IN
    )
    return all(
        value in vnode.get(f"resources_available.{name}", "").split(",") for name, value in wanted
    )


def _count(text: str) -> int:
    return int(text) if re.fullmatch(r"\d{1,12}", text, re.ASCII) else 0


def _kib(size: str) -> int:
    """The KiB in a size such as 528041816kb; without a unit, it is in bytes (pbs_resources(7B))."""
    found = re.fullmatch(r"(\d{1,18})([kmgtp]?)[bw]?", size.lower(), re.ASCII)
    if not found:
        return 0
    factor: int = 1024 ** " kmgtp".index(found[2] or " ")
    return int(found[1]) * factor // 1024
