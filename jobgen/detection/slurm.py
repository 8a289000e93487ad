"""Reads Slurm: the text output of sinfo and scontrol, nearly the same from 21.08 to 26.05.

The differences, from Slurm's sources (src/api/node_info.c, src/api/partition_info.c at the release
tags): CPUEfctv is printed since 22.05; whole nodes are `OverSubscribe=EXCLUSIVE` up to 25.11, and
`Exclusive=NODE` or `Exclusive=TOPO` since 26.05. sinfo refuses -p with -a: all partitions are read.
"""

import getpass
import re
from collections.abc import Mapping
from dataclasses import replace

from jobgen.detection.cluster import Cluster, Nodes, Partition, kinds_of
from jobgen.detection.commands import Answer, needed
from jobgen.detection.hardware import gpu_model
from jobgen.errors import JobgenError
from jobgen.planning.host_list import expand

SINFO = ("sinfo", "-h", "-a", "-e", "-o", "%R|%D|%c|%m|%Z|%G|%f|%T|%N")
NONE = {"", "(null)", "N/A", "NONE", "None", "UNLIMITED", "INFINITE", "infinite"}


def commands(user: str = "") -> dict[str, tuple[str, ...]]:
    """The first commands to run on a login node, by name; `nodes_command` comes after them."""
    return {
        "nodes": SINFO,
        "partitions": ("scontrol", "-a", "-o", "show", "partition"),
        "config": ("scontrol", "show", "config"),
        "accounts": (
            *("sacctmgr", "-n", "-P", "show", "assoc", f"user={user or _user()}"),
            "format=Cluster,Account,Partition,QOS",
        ),
    }


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # the user id has no name
        return "root"


def read_cluster(answers: Mapping[str, Answer]) -> Cluster:
    """The cluster in the answers to `commands`. Raises JobgenError if Slurm does not answer."""
    groups = parse_sinfo(needed(answers["nodes"]))
    config = parse_config(needed(answers["config"]))
    delay = config.get("KillWait")  # such as `30 sec`, the same for all partitions
    partitions = tuple(
        replace(parse_partition(line, groups), kill_delay=_number(delay) if delay else None)
        for line in needed(answers["partitions"]).splitlines()
        if line.startswith("PartitionName=")
    )
    name = config.get("ClusterName", "")
    rows = _associations(answers["accounts"], name)
    return Cluster(
        scheduler="slurm",
        name=name,
        version=config.get("SLURM_VERSION", ""),
        partitions=partitions,
        gpu_option="gres",
        gpu_note=_gpu_note(config),
        binding=_binding(config),
        accounts=tuple(dict.fromkeys(row[1] for row in rows if row[1])),
        qos=tuple(dict.fromkeys(each for row in rows for each in row[3].split(",") if each)),
        account_note=_account_note(answers["accounts"], config),
    )


def parse_sinfo(text: str) -> list[tuple[str, Nodes]]:
    """The groups of nodes in the output of `sinfo`, each with the name of its partition."""
    found = []
    for line in text.splitlines():
        fields = line.split("|")
        if len(fields) != 9:
            continue
        name, count, cpus, memory, threads, gres, features, state, names = fields
        gpus, gpu_type = parse_gres(gres)
        listed = frozenset(each for each in features.split(",") if each not in NONE)
        nodes = Nodes(
            count=_number(count),
            cpus=_number(cpus),
            memory=_number(memory),
            threads=_number(threads) or 1,
            gpus=gpus,
            gpu_type=gpu_type,
            features=listed,
            model=gpu_model(listed),
            names=names,
            example=_first(names),
            is_up=not re.match("down|drain|fail|unk|futu|maint|reboot|power", state.lower()),
        )
        found.append((name, nodes))
    return found


def parse_gres(text: str) -> tuple[int, str]:
    """The number and the type of the GPUs in a list such as gpu:a100:4(S:0-1),shard:8.

    If there are several types, the type with the most GPUs is returned.
    """
    found: dict[str, int] = {}
    for item in re.sub(r"\([^)]*\)", "", text).split(","):
        words = [word for word in item.split(":") if word != "no_consume"]
        if words[0] != "gpu":
            continue
        number = words[-1] if len(words) > 1 and re.match(r"\d+[KMG]?$", words[-1]) else ""
        gpu_type = ":".join(words[1 : -1 if number else None])
        found[gpu_type] = found.get(gpu_type, 0) + (_number(number) or 1)
    if not found:
        return 0, ""
    gpu_type = max(found, key=lambda name: found[name])
    return found[gpu_type], gpu_type


def parse_config(text: str) -> dict[str, str]:
    """The names and values in `scontrol show config`, except values that are not set."""
    found = re.findall(r"^(\w+) *= (.*?) *$", text, re.MULTILINE)
    return {name: value for name, value in found if value not in NONE}


def parse_record(line: str) -> dict[str, str]:
    """The set values in a line of `scontrol -o show`; a value ends where the next NAME= begins."""
    found = re.findall(r"(?:^|\s)([A-Za-z]\w*)=(.*?)(?=\s+[A-Za-z]\w*=|\s*$)", line)
    return {name: value.strip() for name, value in reversed(found) if value.strip() not in NONE}


def parse_partition(line: str, groups: list[tuple[str, Nodes]]) -> Partition:
    """The partition in a line of `scontrol -o show partition`, with the kinds of its nodes."""
    values = parse_record(line)
    name = values["PartitionName"]
    whole = {key: values.get(key, "") for key in ("OverSubscribe", "Exclusive")}
    is_whole = whole["OverSubscribe"] == "EXCLUSIVE" or whole["Exclusive"] in ("NODE", "TOPO")
    max_nodes = _number(values.get("MaxNodes", ""))
    defaults = dict(re.findall(r"(\w+)=(\w+)", values.get("JobDefaults", "")))
    return Partition(
        name=name,
        kinds=kinds_of(nodes for partition, nodes in groups if partition == name),
        is_default=values.get("Default") == "YES",
        is_open=values.get("State", "UP") == "UP" and values.get("RootOnly") != "YES",
        whole_nodes=", ".join(f"{key}={text}" for key, text in whole.items() if text) * is_whole,
        max_nodes=max_nodes or None,
        max_time=values.get("MaxTime", ""),
        default_time=values.get("DefaultTime", ""),
        cpus_per_gpu=_number(defaults.get("DefCpuPerGPU", "")) or None,
        notes=tuple(_partition_notes(values)),
    )


def _partition_notes(values: Mapping[str, str]) -> list[str]:
    notes = [
        f"{key}={values[key]}: only these may use the partition."
        for key in ("AllowAccounts", "AllowGroups", "AllowQos")
        if values.get(key, "ALL") != "ALL"
    ]
    if memory := next((key for key in values if key.startswith("DefMemPer")), ""):
        text = f"{memory}={values[memory]}"
        notes.append(f"{text} (MiB): what a job gets without `request.memory`.")
    return notes


def nodes_command(kinds: tuple[Nodes, ...]) -> tuple[str, ...]:
    """The command that shows one node of each kind in full."""
    return ("scontrol", "-o", "show", "node", ",".join(kind.example for kind in kinds))


def with_details(kinds: tuple[Nodes, ...], text: str) -> tuple[Nodes, ...]:
    """The kinds, completed from the output of `scontrol show node` for one node of each kind."""
    records = [parse_record(line) for line in text.splitlines()]
    by_name = {values.get("NodeName", ""): values for values in records}
    return tuple(_with_record(kind, by_name.get(kind.example, {})) for kind in kinds)


def _with_record(kind: Nodes, values: Mapping[str, str]) -> Nodes:
    if not values:
        return kind
    cpus = usable_cpus(values) or kind.cpus
    reserved = _number(values.get("MemSpecLimit", ""))
    notes = []
    if cpus != kind.cpus:
        notes.append(f"{kind.cpus} CPUs, of which Slurm keeps {kind.cpus - cpus} for the system.")
    if kind.threads > 1:
        notes.append(f"CPUs are hardware threads here, {kind.threads} of each core.")
    if reserved:
        notes.append(f"Memory without the {reserved} MiB that Slurm keeps (MemSpecLimit).")
    return replace(
        kind,
        cpus=cpus,
        memory=max(kind.memory - reserved, 0),
        arch=values.get("Arch", ""),
        notes=tuple(notes),
    )


def usable_cpus(values: Mapping[str, str]) -> int:
    """A node's CPUs that jobs can use: CPUEfctv; before 22.05, CPUTot without CoreSpecCount."""
    if effective := _number(values.get("CPUEfctv", "")):
        return effective
    threads = _number(values.get("ThreadsPerCore", "")) or 1
    reserved = _number(values.get("CoreSpecCount", "")) * threads
    return max(_number(values.get("CPUTot", "")) - reserved, 0)


def _gpu_note(config: Mapping[str, str]) -> str:
    """A comment on options such as --gpus-per-node: only select/cons_tres has them (sbatch(1))."""
    select = config.get("SelectType", "")
    if select.endswith("cons_tres"):
        return f"SelectType={select}: gpus-per-node, gpus-per-task and gpus work, too."
    return f"SelectType={select}: it has no --gpus-per-node."


def _binding(config: Mapping[str, str]) -> str:
    plugins = config.get("TaskPlugin", "")
    if "affinity" in plugins or "cgroup" in plugins:
        default = config.get("TaskPluginParam", "")
        return f"TaskPlugin={plugins}" + (f", TaskPluginParam={default}" if default else "")
    return ""


def _associations(answer: Answer, cluster: str) -> list[list[str]]:
    """The user's rows of sacctmgr: cluster, account, partition, QOS; [] without slurmdbd."""
    if answer.failure:
        return []
    rows = [line.split("|") for line in answer.text.splitlines()]
    return [row for row in rows if len(row) == 4 and (not cluster or row[0] == cluster)]


def _account_note(answer: Answer, config: Mapping[str, str]) -> str:
    if answer.failure:
        return f"Accounts are not known: sacctmgr {answer.failure.rstrip('.')}"
    enforced = config.get("AccountingStorageEnforce", "")
    return f"AccountingStorageEnforce={enforced}" if enforced not in ("", "none") else ""


def _number(text: str) -> int:
    """The whole number at the start of a text such as `128+`; 0 if the text starts otherwise."""
    found = re.match(r"\d{1,18}", text.strip(), re.ASCII)
    return int(found[0]) if found else 0


def _first(names: str) -> str:
    try:
        return next(iter(expand([names])), "")
    except JobgenError:  # the list is invalid, or too long to expand
        return ""
