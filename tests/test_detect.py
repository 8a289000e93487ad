"""`jobgen detect`: recorded answers of schedulers, and stand-ins for their commands.

The samples of Slurm 22.05 and of OpenPBS 23 have the form of what real ones printed. Those of
21.08, 25.05 and 26.05 are written after Slurm's sources (src/api/node_info.c and partition_info.c
at those releases' tags).
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import yaml as pyyaml
from hypothesis import given, settings
from hypothesis import strategies as st

from jobgen.detection import commands, pbs, slurm, software
from jobgen.detection.cluster import (
    Cluster,
    Findings,
    Nodes,
    Partition,
    bundled_sites,
    chosen_partition,
    kinds_of,
    own_feature,
)
from jobgen.detection.hardware import gpu_model, gpu_vendor, parse_probe
from jobgen.detection.probe import SCRIPT
from jobgen.detection.profile_text import profile_text
from jobgen.generator import find_profiles
from tests.helpers import jobgen

NODE_22 = (
    "NodeName=g1 Arch=x86_64 CoresPerSocket=64  CPUAlloc=0 CPUEfctv=112 CPUTot=128 CPULoad=2.39"
    " AvailableFeatures=(null) ActiveFeatures=(null) Gres=gpu:mi250:8(S:0-3) NodeAddr=g1"
    " NodeHostName=g1 Version=22.05.8 OS=Linux 6.1 #1 SMP @0  RealMemory=512000 AllocMem=0"
    " FreeMem=23530 Sockets=1 Boards=1 CoreSpecCount=8 CPUSpecList=0-15 MemSpecLimit=32000"
    " State=IDLE ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A Partitions=gpu "
)
NODE_21 = NODE_22.replace("CPUEfctv=112 ", "")
NODE_25 = NODE_22.replace("Arch=x86_64 ", "Arch=x86_64 CpuBind=none ") + " ResumeAfterTime=None"
PARTITION_22 = (
    "PartitionName=gpu AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=YES"
    " QoS=N/A DefaultTime=01:00:00 DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO"
    " MaxNodes=4 MaxTime=2-00:00:00 MinNodes=0 LLN=NO Nodes=g[1-9] RootOnly=NO ReqResv=NO"
    " OverSubscribe=EXCLUSIVE OverTimeLimit=NONE State=UP TotalCPUs=384 TotalNodes=9"
    " DefMemPerCPU=4000 MaxMemPerNode=UNLIMITED TRES=cpu=384,mem=1500G,node=3,billing=384"
)
PARTITION_26 = PARTITION_22.replace("ExclusiveUser=NO", "Exclusive=NODE").replace(
    "OverSubscribe=EXCLUSIVE", "OverSubscribe=NO"
)
CONFIG = """\
Configuration data as of 2026-11-22T15:53:16
AccountingStorageEnforce = {enforce}
ClusterName             = {name}
KillWait                = 30 sec
SelectType              = select/{select}
SLURM_VERSION           = 22.05.8
TaskPlugin              = task/affinity,task/cgroup
TaskPluginParam         = (null)
"""
SINFO = """\
gpu|3|128|515000|2|gpu:a100:4(S:0-1)|a100,rack1|idle|g[1-3]
gpu|1|128|514000|2|gpu:a100:4(S:0-1)|a100,rack2|allocated|g4
gpu|2|64|256000|1|gpu:v100:2|v100,rack1|idle|v[1-2]
cpu|9|64|256000|1|(null)|(null)|idle|c[1-9]
"""
STANDINS = {"sinfo": SINFO, "srun": "", "sacctmgr": "c|proj|(null)|normal,gpu\n"}


HANGING = 60  # seconds; none of these commands is waited for so long


class LoginNode:
    """A folder of commands that print what a scheduler's would."""

    def __init__(self, folder: Path) -> None:
        self.bin, self.folder = folder / "bin", folder
        self.bin.mkdir()
        for name in ("bash", "sh", "cat", "sleep", "uname", "hostname", "mv", "env"):
            if found := shutil.which(name):
                (self.bin / name).symlink_to(found)

    def add(self, name: str, script: str) -> None:
        (self.bin / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.bin / name).chmod(0o755)

    def answers(self, name: str, text: str, status: int = 0) -> None:
        file = self.folder / f"{name}.txt"
        file.write_text(text)
        self.add(name, f"cat '{file}'; exit {status}")

    def run(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        env = {"PATH": str(self.bin), "HOME": str(self.folder)}
        return jobgen("detect", *words, cwd=self.folder, env=env)


@pytest.fixture
def login(tmp_path: Path) -> LoginNode:
    return LoginNode(tmp_path)


@pytest.fixture
def slurm_login(login: LoginNode) -> LoginNode:
    """Slurm with two kinds of nodes in its default partition, and another partition."""
    for name, text in STANDINS.items():
        login.answers(name, text)
    partition = PARTITION_22.replace("Nodes=g[1-9]", "Nodes=g[1-4],v[1-2]")
    cpu = PARTITION_22.replace("=gpu ", "=cpu ").replace("Default=YES", "Default=NO")
    cpu = cpu.replace("MaxNodes=4 MaxTime=2-00:00:00", "MaxNodes=UNLIMITED MaxTime=UNLIMITED")
    (login.folder / "partitions").write_text(f"{partition}\n{cpu}\n")
    (login.folder / "config").write_text(
        CONFIG.format(name="c", select="cons_tres", enforce="associations,limits")
    )
    v1 = NODE_22.replace("=g1 ", "=v1 ").replace("CPUEfctv=112 CPUTot=128", "CPUEfctv=64 CPUTot=64")
    (login.folder / "nodes").write_text(f"{NODE_22}\n{v1}\n")
    script = 'case "$*" in *config) f=config;; *partition) f=partitions;; *) f=nodes;; esac'
    login.add("scontrol", f"{script}; cat '{login.folder}'/$f")
    return login


def values(text: bytes | str) -> dict[str, object]:
    found = pyyaml.safe_load(text)
    assert isinstance(found, dict)
    return found


def load(login: LoginNode, text: bytes) -> list[str]:
    """The profile is valid, and a job of two nodes can be made with it: its lines."""
    assert text.startswith(b"# yaml-language-server: $schema=jobgen.schema.json\n")  # for editors
    file = login.folder / "detected.yaml"
    file.write_bytes(text)
    profile = find_profiles().load(str(file)).profile
    command = "qsub" if profile.scheduler == "pbs" else "sbatch"
    words = (command, "--profile", "detected.yaml", "-N", "2", "--", "train.py")
    done = jobgen(*words, cwd=login.folder)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().splitlines()


# ---- Slurm ----


@pytest.mark.parametrize("line", [NODE_21, NODE_22, NODE_25])
def test_the_cpus_that_a_job_can_use_and_the_rest_of_a_node(line: str) -> None:
    kind = Nodes(1, 128, 512000, gpus=8, threads=2, example="g1")
    (found,) = slurm.with_details((kind,), line)
    assert (found.cpus, found.memory, found.arch) == (112, 480000, "x86_64")
    assert found.notes == (
        "128 CPUs, of which Slurm keeps 16 for the system.",
        "CPUs are hardware threads here, 2 of each core.",
        "Memory without the 32000 MiB that Slurm keeps (MemSpecLimit).",
    )


def test_a_node_without_anything_special_has_no_notes() -> None:
    line = "NodeName=g1 CPUAlloc=0 CPUEfctv=64 CPUTot=64 RealMemory=1000 ThreadsPerCore=1"
    (found,) = slurm.with_details((Nodes(1, 64, 1000, example="g1"),), line)
    assert (found.cpus, found.memory, found.arch, found.notes) == (64, 1000, "", ())
    assert slurm.with_details((found,), "Node g1 not found") == (found,)


@pytest.mark.parametrize(
    ("line", "whole"),
    [
        (PARTITION_22, "OverSubscribe=EXCLUSIVE"),
        (PARTITION_26, "OverSubscribe=NO, Exclusive=NODE"),
        (PARTITION_26.replace("=NODE", "=TOPO"), "OverSubscribe=NO, Exclusive=TOPO"),
        (PARTITION_26.replace("=NODE", "=USER"), ""),
        (PARTITION_22.replace("EXCLUSIVE", "FORCE:4"), ""),
    ],
)
def test_a_partition_in_releases_of_slurm(line: str, whole: str) -> None:
    found = slurm.parse_partition(line, slurm.parse_sinfo(SINFO))
    assert found.whole_nodes == whole
    assert (found.name, found.is_default, found.is_open, found.max_nodes) == ("gpu", True, True, 4)
    assert (found.max_time, found.default_time) == ("2-00:00:00", "01:00:00")
    assert found.notes == ("DefMemPerCPU=4000 (MiB): what a job gets without `request.memory`.",)
    assert [kind.count for kind in found.kinds] == [4, 2]


def test_the_cores_that_a_partition_gives_for_each_gpu(slurm_login: LoginNode) -> None:
    """As Slurm 22.05 printed it for a partition with DefCpuPerGPU."""
    file = slurm_login.folder / "partitions"
    defaults = " JobDefaults=DefCpuPerGPU=14,DefMemPerGPU=64000 DefMemPerCPU"
    shared = file.read_text().replace("=EXCLUSIVE", "=NO").replace(" DefMemPerCPU", defaults)
    file.write_text(shared)
    done = slurm_login.run()
    request = values(done.stdout)["request"]
    assert request == {"gpu_option": "gres", "cpus_per_gpu": 14, "constraint": "a100"}
    assert "#SBATCH --cpus-per-task=56" in load(slurm_login, done.stdout)
    file.write_text(shared.replace("OverSubscribe=NO", "OverSubscribe=EXCLUSIVE"))
    assert "cpus_per_gpu" not in slurm_login.run().stdout.decode()


def test_limits_that_a_partition_does_not_have() -> None:
    line = "PartitionName=x MaxNodes=UNLIMITED MaxTime=UNLIMITED DefaultTime=NONE State=DOWN"
    found = slurm.parse_partition(line, [])
    assert (found.max_nodes, found.max_time, found.default_time) == (None, "", "")
    assert not found.is_open


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(null)", (0, "")),
        ("gpu:4", (4, "")),
        ("gpu", (1, "")),
        ("gpu:a100", (1, "a100")),
        ("gpu:a100:4(S:0-1)", (4, "a100")),
        ("gpu:a100:2(S:0),gpu:a100:2(S:1),shard:16", (4, "a100")),
        ("gpu:tesla:no_consume:2", (2, "tesla")),
        ("gpu:1g.5gb:7,gpu:a100:1", (7, "1g.5gb")),
        ("craynetwork:4,gpu:gh200:4(S:0,1,2,3)", (4, "gh200")),
        ("gpumem:80", (0, "")),
    ],
)
def test_the_gpus_in_a_gres(text: str, expected: tuple[int, str]) -> None:
    assert slurm.parse_gres(text) == expected


def test_a_record_whose_values_have_blanks() -> None:
    found = slurm.parse_record("NodeName=a OS=Linux 6.1 #1 SMP @0  RealMemory=5 Comment=b c ")
    assert found == {
        "NodeName": "a",
        "OS": "Linux 6.1 #1 SMP @0",
        "RealMemory": "5",
        "Comment": "b c",
    }


def test_a_profile_of_slurm_with_two_kinds_of_nodes(slurm_login: LoginNode) -> None:
    done = slurm_login.run()
    assert (done.returncode, done.stderr) == (0, b"")
    found = values(done.stdout)
    assert found == {
        "description": "c, partition gpu: 4 GPUs a node, Slurm",
        "scheduler": "slurm",
        "slurm_version": "22.05.8",
        "partition": "gpu",
        "account": "proj",
        "limits": {"nodes": 4, "time": "2-00:00:00", "partitions": {"cpu": {"nodes": 9}}},
        "node": {
            "cpus": 112,
            "gpus": 4,
            "gpu": "nvidia",
            "gpu_type": "a100",
            "memory": "482000M",
            "arch": "x86_64",
        },
        "request": {"gpu_option": "gres", "exclusive": True, "constraint": "a100"},
    }
    text = done.stdout.decode()
    for line in (
        "#   cpu: 9 nodes, 64 CPUs, 250G, no GPUs: c[1-9]\n",
        "  #   2 nodes, 64 CPUs, 218G, 2 GPUs v100: v[1-2]  (request.constraint: v100)\n",
        "  # Guessed from the name a100; jobgen detect --probe asks a node.\n  gpu: nvidia\n",
        "  # qos: one of normal, gpu (sacctmgr show assoc)\n",
        "  # Of some of these nodes only: rack1, rack2\n",
        "  # time: 01:00:00  # what a job gets without -t\n",
        "# AccountingStorageEnforce=associations,limits.\n",
        "# The only account that sacctmgr shows for you.\naccount: proj\n",
    ):
        assert line in text
    assert "#SBATCH --gres=gpu:a100:4" in load(slurm_login, done.stdout)


def test_a_queue_whose_jobs_share_nodes_of_a_group() -> None:
    place = {"resources_default.place": "scatter:group=excl_rack"}
    assert not pbs.parse_queue("q", place, [], True, {}).whole_nodes


@pytest.mark.parametrize(
    ("delay", "launch"),
    [
        ("30 sec", None),  # the default, of which a profile says nothing
        ("90 sec", {"kill_delay": 90}),
        ("4 sec", {"kill_delay": 4, "stop_grace": 2}),
        ("1 sec", None),  # jobgen refuses it: a comment says so
    ],
)
def test_what_slurm_leaves_a_job_that_it_ends(
    slurm_login: LoginNode, delay: str, launch: dict[str, int] | None
) -> None:
    config = slurm_login.folder / "config"
    config.write_text(config.read_text().replace("30 sec", delay))
    text = slurm_login.run().stdout
    assert values(text).get("launch") == launch
    assert ("jobgen takes no such value" in text.decode()) == (delay == "1 sec")
    load(slurm_login, text)


def test_another_partition(slurm_login: LoginNode) -> None:
    done = slurm_login.run("--partition", "cpu")
    found = values(done.stdout)
    assert found["partition"] == "cpu"
    assert found["node"] == {"cpus": 64, "gpus": 0, "memory": "256000M"}
    assert found["request"] == {"exclusive": True}
    load(slurm_login, done.stdout)


def test_a_job_of_another_partition_has_that_one_s_limits(slurm_login: LoginNode) -> None:
    load(slurm_login, slurm_login.run().stdout)
    words = ("sbatch", "--profile", "detected.yaml", "-N", "9", "-G", "0", "-t", "9-00:00:00")
    words = (*words, "--set", "node.cpus=8")
    done = jobgen(*words, "-p", "cpu", "--", "train.py", cwd=slurm_login.folder)
    assert done.returncode == 0, done.stderr.decode()
    refused = jobgen(*words, "--", "train.py", cwd=slurm_login.folder).stderr.decode()
    assert "9 nodes requested, profile detected has at most 4; limits.nodes is set at" in refused
    assert "; -p cpu allows it [limit]" in refused


@pytest.mark.parametrize(
    ("name", "time", "expected"),
    [
        ("1{a}:b", "2-0", {"1{a}:b": {"nodes": 4, "time": "2-0"}}),
        ("yes", "", {"yes": {"nodes": 4}}),
        ("no", "x", None),  # jobgen takes no such time: a comment says so
        ("a: b", "2-0", None),  # nor such a name
    ],
)
def test_limits_of_partitions_with_any_name(
    name: str, time: str, expected: dict[str, object] | None
) -> None:
    kinds = kinds_of([Nodes(4, 64, 1000, names="c[1-4]", example="c1")])
    gpu, other = Partition("gpu", kinds, max_time="1-0"), Partition(name, kinds, max_time=time)
    cluster = Cluster("slurm", "c", partitions=(gpu, other))
    text = profile_text(Findings(cluster, replace(gpu, kinds=kinds), "the default"))
    assert values(text)["limits"] == {"nodes": 4, "time": "1-0", "partitions": expected}
    _check(text)


def test_a_partition_that_does_not_exist(slurm_login: LoginNode) -> None:
    done = slurm_login.run("--partition", "gpus")
    assert (done.returncode, done.stdout) == (2, b"")
    expected = "--partition: the cluster has no partition `gpus`; did you mean `gpu`? [value]\n"
    assert done.stderr.decode() == f"jobgen: {expected}"


def test_without_slurmdbd(slurm_login: LoginNode) -> None:
    slurm_login.add("sacctmgr", "echo 'You are not running a supported plugin' >&2; exit 1")
    done = slurm_login.run()
    assert done.returncode == 0
    assert "account" not in values(done.stdout)
    reason = "sacctmgr failed: You are not running a supported plugin."
    assert f"# Accounts are not known: {reason}\n# account: NAME" in done.stdout.decode()
    load(slurm_login, done.stdout)


def test_what_only_cons_tres_has(slurm_login: LoginNode) -> None:
    assert b"gpus-per-node, gpus-per-task and gpus work, too." in slurm_login.run().stdout
    config = CONFIG.format(name="c", select="linear", enforce="none")
    (slurm_login.folder / "config").write_text(config)
    text = slurm_login.run().stdout
    assert b"SelectType=select/linear: it has no --gpus-per-node." in text
    assert b"AccountingStorageEnforce" not in text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sinfo", "scontrol"])
def test_a_scheduler_that_does_not_answer(slurm_login: LoginNode, name: str) -> None:
    slurm_login.add(name, f"sleep {HANGING}")
    begin = time.monotonic()
    done = slurm_login.run("-o", "x.yaml")
    assert time.monotonic() - begin < HANGING
    assert (done.returncode, done.stdout) == (1, b"")
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(f"jobgen: detect: `{name}` did not answer within 2 s")
    assert not (slurm_login.folder / "x.yaml").exists()


def test_an_edited_profile_is_kept(slurm_login: LoginNode) -> None:
    slurm_login.run("-o", "x.yaml")
    again = slurm_login.run("-o", "x.yaml")
    assert b".old" not in again.stderr
    file = slurm_login.folder / "x.yaml"
    text = file.read_text()
    file.write_text("edited\n")
    (slurm_login.folder / "x.yaml.old").write_text("older\n")
    done = slurm_login.run("-o", "x.yaml")
    assert b"x.yaml was another profile, or was edited: it is x.yaml.old1 now" in done.stderr
    assert (slurm_login.folder / "x.yaml.old1").read_text() == "edited\n"
    assert file.read_text() == text


def test_a_scheduler_that_fails(slurm_login: LoginNode) -> None:
    slurm_login.add("sinfo", "echo 'sinfo: error: no controller' >&2; exit 1")
    done = slurm_login.run()
    assert done.returncode == 1
    (line,) = done.stderr.decode().splitlines()
    assert "`sinfo` failed: sinfo: error: no controller" in line


def test_no_scheduler_here(login: LoginNode) -> None:
    for words, wanted in (((), "sinfo or pbsnodes"), (("--queue", "q"), "pbsnodes")):
        done = login.run(*words)
        assert done.returncode == 2
        (line,) = done.stderr.decode().splitlines()
        assert f"no {wanted} on PATH" in line


def test_options_that_exclude_each_other_or_cannot_be_read(slurm_login: LoginNode) -> None:
    for words, message in (
        (("--queue", "q", "--partition", "p"), "--queue: Slurm has partitions, and PBS has queues"),
        (("--directive", "--x='y"), "--directive: `--x='y` cannot be read: No closing quotation"),
    ):
        done = slurm_login.run(*words)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.decode().startswith(f"jobgen: {message}")


def test_a_long_list_of_nodes_is_cut(slurm_login: LoginNode) -> None:
    names = "g[" + ",".join(str(number) for number in range(1, 99, 2)) + "]"
    slurm_login.answers("sinfo", SINFO.replace("g[1-3]", names))
    text = slurm_login.run().stdout.decode()
    assert f"{names[:59]}…" in text
    assert names[:60] not in text


def test_gpus_choose_nodes_where_others_have_none(slurm_login: LoginNode) -> None:
    slurm_login.answers("sinfo", SINFO.replace("gpu:v100:2", "(null)"))
    assert "constraint" not in values(slurm_login.run().stdout)["request"]  # type: ignore[operator]


@pytest.mark.slow
def test_a_slow_command_that_is_not_needed(slurm_login: LoginNode) -> None:
    for name in ("sacctmgr", "srun"):
        slurm_login.add(name, f"sleep {HANGING}")
    begin = time.monotonic()
    done = slurm_login.run()
    assert time.monotonic() - begin < HANGING
    assert done.returncode == 0
    assert b"Accounts are not known: sacctmgr did not answer within 2 s." in done.stdout


# ---- PBS ----

VNODE = {"state": "free", "ntype": "PBS", "sharing": "default_shared"}


def pbs_text(nodes: Mapping[str, object], queues: Mapping[str, object]) -> dict[str, str]:
    """As OpenPBS 23 prints it: `pbsnodes -av`, `qstat -Qf` and `qstat -Bf`."""
    texts = {}
    for name, objects in (("nodes", nodes), ("queues", queues)):
        lines = []
        for each, attributes in objects.items():
            lines.append(each if name == "nodes" else f"Queue: {each}")
            for key, value in attributes.items():  # type: ignore[attr-defined]
                pairs = value.items() if isinstance(value, dict) else [("", value)]
                lines += [f"    {key}.{inner} = {v}".replace(". ", " ") for inner, v in pairs]
        texts[name] = "\n".join(lines) + "\n"
    texts["server"] = "Server: login\n    default_queue = wor\n\tkq\n    pbs_version = 23.06.06\n"
    return texts


def vnode(host: str, **resources: object) -> dict[str, object]:
    return {**VNODE, "resources_available": {"host": host, "arch": "linux", **resources}}


NODES = {
    "a1": vnode("a1", ncpus=64, mem="527958016kb", ngpus=4, gpu_type="a100", tier="00"),
    "a2": vnode("a2", ncpus=64, mem="527958016kb", ngpus=4, gpu_type="a100", tier="00"),
    "v1": vnode("v1", ncpus=36, mem="377487360kb", ngpus=2, gpu_type="v100", tier="00"),
    # One host of two vnodes, as the cgroups hook makes them.
    "c1": vnode("c1", ncpus=0),
    "c1[0]": vnode("c1", ncpus=18, mem="100gb"),
    "c1[1]": vnode("c1", ncpus=18, mem="100gb"),
}
OPEN = {"queue_type": "Execution", "enabled": "True", "started": "True"}
QUEUES = {
    "workq": {
        **OPEN,
        "resources_max": {"walltime": "24:00:00", "nodect": 2},
        "resources_default": {"walltime": "01:00:00", "place": "scatter:excl"},
    },
    "v": {
        **OPEN,
        "default_chunk": {"gpu_type": "v100", "ncpus": 1},
        "resources_max": {"walltime": "02:00:00"},
    },
    "closed": {**OPEN, "enabled": "False"},
}


@pytest.fixture
def pbs_login(login: LoginNode) -> LoginNode:
    texts = pbs_text(NODES, QUEUES)
    login.answers("pbsnodes", texts["nodes"])
    for name in ("queues", "server"):
        (login.folder / name).write_text(texts[name])
    login.add("qstat", f"case $1 in -Qf) f=queues;; *) f=server;; esac; cat '{login.folder}'/$f")
    return login


def test_a_profile_of_pbs_with_several_kinds_of_nodes(pbs_login: LoginNode) -> None:
    done = pbs_login.run()
    assert (done.returncode, done.stderr) == (0, b"")
    assert values(done.stdout) == {
        "description": "login, queue workq: 4 GPUs a node, PBS",
        "scheduler": "pbs",
        "queue": "workq",
        "limits": {
            "nodes": 2,
            "time": "24:00:00",
            "partitions": {"v": {"nodes": 1, "time": "02:00:00"}, "closed": {"nodes": 4}},
        },
        "node": {"cpus": 64, "gpus": 4, "gpu": "nvidia", "memory": "515584M"},
        "request": {"gpu_option": "ngpus", "exclusive": True, "constraint": "gpu_type=a100"},
    }
    wanted = b"# `request.account_option` is how: by -A (the default), by -P, or by -W group_list="
    assert wanted in done.stdout
    text = done.stdout.decode()
    assert "1 node, 36 CPUs, 360G, 2 GPUs v100: v1  (request.constraint: gpu_type=v100)" in text
    assert "1 node, 36 CPUs, 200G, no GPUs: c1\n" in text
    assert "#   chunk: {tier: 00}" in text
    load(pbs_login, done.stdout)


def test_a_queue_whose_jobs_get_certain_nodes(pbs_login: LoginNode) -> None:
    found = values(pbs_login.run("--queue", "v").stdout)
    assert found["node"] == {"cpus": 36, "gpus": 2, "gpu": "nvidia", "memory": "368640M"}
    assert found["request"] == {"gpu_option": "ngpus"}


@pytest.mark.parametrize(
    ("delay", "launch"),
    [
        (10, None),
        (60, {"kill_delay": 60}),
        (5, {"kill_delay": 5, "stop_grace": 3}),
    ],
)
def test_what_a_queue_leaves_a_job_that_it_ends(
    pbs_login: LoginNode, delay: int, launch: dict[str, int] | None
) -> None:
    """PBS shows the attribute where the site has set it."""
    queues = {**QUEUES, "workq": {**QUEUES["workq"], "kill_delay": delay}}
    (pbs_login.folder / "queues").write_text(pbs_text(NODES, queues)["queues"])
    text = pbs_login.run().stdout
    assert values(text).get("launch") == launch
    load(pbs_login, text)
    assert "launch" not in values(pbs_login.run("--queue", "v").stdout)


@pytest.mark.slow
def test_pbs_that_does_not_answer(pbs_login: LoginNode) -> None:
    pbs_login.add("qstat", f"sleep {HANGING}")
    begin = time.monotonic()
    done = pbs_login.run()
    assert time.monotonic() - begin < HANGING
    (line,) = done.stderr.decode().splitlines()
    assert (done.returncode, line[:47]) == (1, "jobgen: detect: `qstat` did not answer within 2")


def test_pbs_where_slurms_commands_fail(pbs_login: LoginNode) -> None:
    """As on a machine with both, of which one runs."""
    expected = pbs_login.run().stdout
    pbs_login.add("sinfo", "exit 1")
    assert pbs_login.run().stdout == expected


def test_nodes_that_belong_to_a_queue() -> None:
    vnodes = {"a": {"queue": "x", "resources_available.ncpus": "4"}, "b": {}}
    hosts = pbs.hosts_of(vnodes)
    for name, count in (("x", 2), ("y", 1)):
        queue = pbs.parse_queue(name, OPEN, hosts, False, {})
        assert sum(kind.count for kind in queue.kinds) == count


@pytest.mark.parametrize(
    ("size", "kib"),
    [("528041816kb", 528041816), ("1gb", 1 << 20), ("2048", 2), ("4mw", 4096), ("x", 0)],
)
def test_sizes_of_pbs(size: str, kib: int) -> None:
    assert pbs._kib(size) == kib


# ---- kinds, partitions, sites ----


def test_nodes_of_one_kind_may_differ_a_little_in_memory() -> None:
    groups = [Nodes(1, 8, memory, names=str(memory)) for memory in (1000, 1050, 1200, 1099)]
    assert [(kind.count, kind.memory) for kind in kinds_of(groups)] == [(3, 1000), (1, 1200)]


def test_a_gpu_among_the_features_tells_kinds_apart() -> None:
    groups = slurm.parse_sinfo(
        "p|2|8|1000|1|gpu:4|amd,a100-80|idle|a[1-2]\np|3|8|1000|1|gpu:4|amd,h100|idle|h[1-3]\n"
    )
    kinds = kinds_of(nodes for _, nodes in groups)
    assert [(kind.model, kind.count) for kind in kinds] == [("h100", 3), ("a100", 2)]
    assert own_feature(kinds[0], kinds[1:]) == "h100"
    assert own_feature(kinds[1], kinds[:1]) == "a100-80"


def test_the_example_is_a_node_that_is_up() -> None:
    text = "p|1|8|1000|1|gpu:4|(null)|down*|a1\np|1|8|1000|1|gpu:4|(null)|idle|a2\n"
    (kind,) = kinds_of(nodes for _, nodes in slurm.parse_sinfo(text))
    assert (kind.example, kind.count) == ("a2", 2)


def test_the_partition_of_a_profile() -> None:
    gpu, cpu = Nodes(2, 8, gpus=4), Nodes(9, 8)
    few = Partition("few", (gpu,), is_default=True)
    assert chosen_partition([few, Partition("many", (gpu, gpu))]) == (few, "the default")
    plain = Partition("plain", (cpu,), is_default=True)
    many = Partition("many", (gpu, gpu))
    closed = Partition("closed", (gpu, gpu, gpu), is_open=False)
    found, why = chosen_partition([plain, Partition("few", (gpu,)), many, closed])
    assert found == many
    assert "the default, plain, has none" in why
    assert chosen_partition([plain, Partition("other", (cpu,))])[0] == plain


def test_a_bundled_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sites = tmp_path / "profiles/sites"
    sites.mkdir(parents=True)
    for name in ("lumi-g", "derecho", "alps", "alps-ce", "gcp-a3mega", "lumio"):
        (sites / f"{name}.yaml").write_text("scheduler: slurm\n")
    monkeypatch.chdir(tmp_path)
    ours = [f"sites/{file.stem}" for file in sites.iterdir()]
    for cluster, partitions, expected in (
        ("lumi", [], ["sites/lumi-g"]),
        ("desched1", [], ["sites/derecho"]),
        ("daint", [], ["sites/alps", "sites/alps-ce"]),
        ("mine", ["a3mega"], ["sites/gcp-a3mega"]),
        ("mine", ["gpu"], []),
        ("", [], []),
    ):
        assert sorted(set(bundled_sites(cluster, partitions)) & set(ours)) == expected


def test_both_rounds_of_commands_end_in_five_seconds() -> None:
    """With Python's start; the second round is for Slurm's nodes."""
    assert 2 * commands.SECONDS < 5


# ---- what nodes and modules say ----


@pytest.mark.parametrize(
    ("name", "vendor"),
    [
        *((each, "nvidia") for each in ("a100", "h100", "gh200", "NVIDIA_A100-SXM4", "l40s", "t4")),
        *((each, "nvidia") for each in ("v100s", "1g.5gb", "rtx_6000", "gb200", "tesla")),
        *((each, "amd") for each in ("mi210", "MI250X", "mi300a", "amd_instinct")),
        *((each, "intel") for each in ("pvc", "max1550", "intel_max_1550")),
        *((each, "") for each in ("", "gpu", "rack100", "big", "tier3", "fast")),
    ],
)
def test_what_a_name_hints_at(name: str, vendor: str) -> None:
    assert gpu_vendor(name) == vendor


def test_the_model_among_features() -> None:
    assert gpu_model({"rack1", "zen3", "a100-80gb"}) == "a100"
    assert gpu_model({"gpu_type=mi250x", "tier=00"}) == "mi250x"
    assert gpu_model({"rack100", "ib"}) == ""


PROBE = """\
host=n1
arch=aarch64
hostaddress=10.0.0.5
address=1: lo    inet 127.0.0.1/8 scope host lo
address=1: lo    inet6 ::1/128 scope host
address=2: eth0    inet 10.0.0.5/24 brd 10.0.0.255 scope global eth0
address=2: eth0    inet6 fd00::5/64 scope global
address=2: eth0    inet6 fe80::1:2/64 scope link
address=3: {interface}    inet 172.16.0.5/24 scope global {interface}
{adapter}
device=nvidia
pci=0x10de
pci=0x1a03
gpu=GPU 0: NVIDIA GH200 120GB (UUID: GPU-1)
gpu=GPU 1: NVIDIA GH200 120GB (UUID: GPU-2)
driver=CUDA Version: 12.4
engine=podman
environment=venv 2.7.0+cpu /home/me/cpu
environment=conda 2.6.0+cu124 /home/me/miniconda3/envs/torch
"""


@pytest.mark.parametrize(
    ("interface", "adapter", "fabric", "chosen"),
    [
        ("hsn0", "adapter=cxi0", "slingshot", "hsn0"),
        ("ib0", "adapter=mlx5_0 mlx5_core InfiniBand", "infiniband", "ib0"),
        ("ens5", "adapter=rdmap0s6 efa Unspecified", "efa", ""),
        ("ens5", "adapter=mlx5_0 mlx5_core Ethernet", "", ""),
        ("hsn0", "", "", "hsn0"),
        ("ens5", "", "ethernet", ""),
    ],
)
def test_the_answer_of_a_node(interface: str, adapter: str, fabric: str, chosen: str) -> None:
    found = parse_probe(PROBE.format(interface=interface, adapter=adapter))
    assert (found.fabric, found.interface) == (fabric, chosen)
    assert (found.arch, found.gpu, found.driver) == ("aarch64", "nvidia", "CUDA Version: 12.4")
    assert found.gpu_names == ("NVIDIA GH200 120GB",)
    assert found.host_interface == "eth0"
    assert found.interfaces == (("eth0", "10.0.0.5"), (interface, "172.16.0.5"))


def test_the_answer_of_a_node_without_ipv4() -> None:
    """Its host name may have an address of a link first; that leads to no interface."""
    text = re.sub(".* inet .*\n", "", PROBE.format(interface="hsn0", adapter=""))
    text = text.replace("hostaddress=10.0.0.5", "hostaddress=fe80::1:2%eth0\nhostaddress=fd00::5")
    text += "address=3: hsn0    inet6 2001:db8::a/64 scope global \\ valid_lft forever\n"
    found = parse_probe(text)
    assert found.interfaces == (("eth0", "fd00::5"), ("hsn0", "2001:db8::a"))
    assert (found.host_interface, found.interface) == ("eth0", "hsn0")


@pytest.mark.parametrize(
    ("lines", "vendor"),
    [
        ("device=amd\npci=0x1002", "amd"),
        ("pci=0x8086", "intel"),
        ("pci=0x1a03", ""),
        ("pci=0x8086\ndevice=amd", "amd"),
        ("", ""),
    ],
)
def test_the_vendor_of_a_nodes_gpus(lines: str, vendor: str) -> None:
    assert parse_probe(lines).gpu == vendor


def test_modules_with_pytorch() -> None:
    """As Lmod and Environment Modules print them with -t."""
    text = (
        "/opt/modules/Core:\nPyTorch/2.6-cuda(default)\ngcc/12\npytorch/2.3.0 (D)\nanaconda3/\n"
        "Lmod is automatically replacing torch\n"
    )
    assert software.parse_modules(text) == ("PyTorch/2.6-cuda", "pytorch/2.3.0")
    assert software.parse_modules("gcc/12\nminiforge3/24\n") == ("miniforge3/24",)
    assert software.parse_modules("bash: module: command not found") == ()


def test_engines_of_srun() -> None:
    assert software.parse_engines("      --environment=<edf>  x\n") == ("ce",)
    assert software.parse_engines("      --container-image=[USER@]IMAGE\n") == ("pyxis",)
    plain = "      --container             Path to OCI\n      --export=environment\n"
    assert software.parse_engines(plain) == ()


# ---- the profile ----

NAMES = st.text(min_size=0, max_size=12) | st.sampled_from(
    ["a: b", "- x", "#c", "yes", "null", "1:30", "'", '"', "{}", "a\nscheduler: pbs", "\u2028", "%"]
)


@pytest.mark.thorough
@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(names=st.lists(NAMES, min_size=8, max_size=8), number=st.integers(0, 1 << 40))
def test_no_name_of_a_scheduler_breaks_the_profile(names: list[str], number: int) -> None:
    """It is YAML, has only the keys that are meant, and jobgen takes it."""
    kind = Nodes(
        *(3, 128, number),
        gpus=number % 80,
        gpu_type=names[0],
        features=frozenset({names[1]}),
        some_features=frozenset({names[2]}),
        arch=names[3],
        names=names[4],
        notes=(names[2],),
    )
    other = Nodes(1, 8, features=frozenset({names[5]}), names=names[1])
    partition = Partition(names[6], (kind, other), kill_delay=number)
    partition = replace(partition, max_time=names[7], notes=(names[0],))
    cluster = Cluster(
        *("slurm", names[5], names[3], (partition, Partition(names[2]))),
        gpu_option="gres",
        gpu_note=names[1],
        accounts=(names[4],),
        qos=(names[5],),
    )
    found = Findings(cluster, partition, "x", module_notes=(names[6],))
    text = profile_text(found)
    data = values(text)
    assert data["scheduler"] == "slurm"
    sections = {"limits", "node", "request", "network", "software", "launch"}
    assert set(data) - sections <= {"description", "scheduler", "partition", "account"}
    if "partition" in data:
        assert data["partition"] == names[6]
    _check(text)


def _check(text: str) -> None:
    from jobgen.profiles.kinds import ProblemList
    from jobgen.profiles.model import ROOT
    from jobgen.profiles.yaml_tree import parse

    problems = ProblemList()
    ROOT.read(parse(text.encode(), "detected.yaml"), problems)
    assert problems.found == []


def test_the_script_of_the_probe_passes_shellcheck() -> None:
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    script = f"#!/bin/sh\nfolder=/x environments=/y\n{SCRIPT.read_text()}"
    done = subprocess.run(["shellcheck", "--norc", "-"], input=script.encode(), check=False)
    assert done.returncode == 0


def test_the_probes_script_on_this_machine(tmp_path: Path) -> None:
    text = f"#!/bin/sh\nfolder='{tmp_path}' environments=''\n{SCRIPT.read_text()}"
    subprocess.run(["sh"], input=text.encode(), check=True)
    found = parse_probe((tmp_path / "answer").read_text())
    assert found.arch == os.uname().machine
    assert not (tmp_path / "part").exists()


def with_torch(folder: Path, version: str) -> Path:
    """An environment whose torch has this version, as far as a look at its files tells."""
    package = folder / "lib/python3.12/site-packages/torch"
    package.mkdir(parents=True)
    (package / "version.py").write_text(f"from typing import Optional\n__version__ = '{version}'\n")
    return folder


def test_the_environments_of_a_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The active one first; one without torch is none."""
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "home"
    names = ("miniconda3/envs/a", "miniconda3/envs/b", "own/envs/c", "micromamba/envs/d")
    a, b, c, d = (with_torch(home / name, "2.6.0") for name in names)
    (home / "miniconda3/envs/empty/bin").mkdir(parents=True)
    local, elsewhere = with_torch(tmp_path / ".venv", "2.6.0"), with_torch(tmp_path / "e", "2.6.0")
    (home / ".conda").mkdir()
    (home / ".conda/environments.txt").write_text(f"{home}/miniconda3/envs/a\n{elsewhere}\n")
    variables = {"HOME": str(home), "CONDA_PREFIX": str(b), "PATH": "/nothere"}
    variables["CONDA_EXE"] = str(home / "own/bin/conda")
    found = software.environment_folders(variables)
    assert found == tuple(map(str, (b, local, c, a, d, elsewhere)))
    assert software.environment_folders({"HOME": "/nothere", "PATH": ""}) == (str(local),)


def test_many_environments_are_not_all_sent(tmp_path: Path) -> None:
    for number in range(software.MOST_ENVIRONMENTS + 5):
        with_torch(tmp_path / f"miniconda3/envs/{number}", "2.6.0")
    found = software.environment_folders({"HOME": str(tmp_path), "PATH": ""})
    assert len(found) == software.MOST_ENVIRONMENTS


def test_which_environments_a_node_sees(tmp_path: Path) -> None:
    """conda's are those of an installation that has its conda."""
    own, conda = with_torch(tmp_path / "a b", "2.6.0+cpu"), with_torch(tmp_path / "m/envs/t", "2.5")
    (tmp_path / "m/condabin").mkdir()
    (tmp_path / "m/condabin/conda").touch(0o755)
    folders = shlex.quote(f"{own}\n{conda}\n{tmp_path}/of/the/login/node")
    text = f"folder='{tmp_path}'\nenvironments={folders}\n{SCRIPT.read_text()}"
    subprocess.run(["sh"], input=text.encode(), check=True)
    found = parse_probe((tmp_path / "answer").read_text())
    assert found.environments == (("venv", "2.6.0+cpu", str(own)), ("conda", "2.5", str(conda)))


# ---- the probe, with stand-ins ----


def test_the_probe_fills_in_what_the_node_says(slurm_login: LoginNode) -> None:
    log = slurm_login.folder / "log"
    answer = PROBE.format(interface="hsn0", adapter="adapter=cxi0")
    (slurm_login.folder / "node").write_text(answer)
    words = f'echo "$@" > {log}; f=$(sed -n "s/^folder=//p")'
    (slurm_login.bin / "sed").symlink_to(shutil.which("sed") or "")
    slurm_login.add(
        "sbatch", f'{words}; eval "f=$f"; cat {slurm_login.folder}/node > "$f/answer"; echo 7'
    )
    done = slurm_login.run("--probe", "--directive", "--licenses=x")
    assert done.returncode == 0, done.stderr
    found = values(done.stdout)
    assert (found["extends"], found["network"]) == ("fabrics/slingshot", {"interface": "hsn0"})
    assert found["software"] == {"conda": "/home/me/miniconda3/envs/torch"}  # for GPUs
    assert "\n  # It has torch 2.6.0+cu124, and n1 sees it.\n" in done.stdout.decode()
    assert '\n  # venv: "/home/me/cpu"  # torch 2.7.0+cpu\n' in done.stdout.decode()
    assert found["node"]["arch"] == "aarch64"  # type: ignore[index]
    assert found["request"]["directives"] == ["--licenses=x"]  # type: ignore[index]
    wanted = "--partition=gpu --account=proj --constraint=a100 --gres=gpu:a100:1 --licenses=x"
    assert wanted in log.read_text()
    assert not list(slurm_login.folder.glob(".jobgen-probe*"))
    assert "#SBATCH --licenses=x" in load(slurm_login, done.stdout)


def test_the_probe_of_a_node_that_shows_no_gpu_is_not_asked_for_again(
    slurm_login: LoginNode,
) -> None:
    (slurm_login.bin / "sed").symlink_to(shutil.which("sed") or "")
    answer = """f=$(sed -n "s/^folder=//p"); eval "f=$f"; echo host=n1 > "$f/answer"; echo 7"""
    slurm_login.add("sbatch", answer)
    text = slurm_login.run("--probe").stdout.decode()
    assert "  # Guessed from the name a100; n1 shows no GPU to a job.\n  gpu: nvidia\n" in text


def test_a_probe_that_does_not_start(slurm_login: LoginNode) -> None:
    slurm_login.add("sbatch", "cat > /dev/null; echo '7;c'")
    waits = "JobId=7 JobName=jobgen-probe\n   JobState=PENDING Reason=Resources Dependency=(null)\n"
    slurm_login.answers("waiting", waits)
    script = (slurm_login.bin / "scontrol").read_text().removeprefix("#!/bin/sh\n")
    job = f'case "$*" in *" job "*) exec cat \'{slurm_login.folder}/waiting.txt\';; esac'
    slurm_login.add("scontrol", f"{job}\n{script}")
    slurm_login.add("scancel", f"echo \"$@\" > '{slurm_login.folder}/cancelled'")
    done = slurm_login.run("--probe", "--probe-limit", "1")
    assert done.returncode == 1
    assert b"job 7 has not answered within 1 s (PENDING Resources)" in done.stderr
    assert (slurm_login.folder / "cancelled").read_text() == "-M c 7\n"
    assert not list(slurm_login.folder.glob(".jobgen-probe*"))
    load(slurm_login, done.stdout)


def test_a_probe_that_the_scheduler_refuses(slurm_login: LoginNode) -> None:
    slurm_login.add("sbatch", "echo 'sbatch: error: Invalid account' >&2; exit 1")
    done = slurm_login.run("--probe")
    assert done.returncode == 1
    assert b"--probe: sbatch failed: sbatch: error: Invalid account" in done.stderr
    load(slurm_login, done.stdout)


def test_the_probe_of_pbs_requests_what_the_site_wants(pbs_login: LoginNode) -> None:
    log = pbs_login.folder / "log"
    pbs_login.add("qsub", f'cat > /dev/null; printf "%s\\n" "$@" > {log}; exit 1')
    words = ("--account", "me", "--directive", "-l filesystems=home")
    assert pbs_login.run("--probe", *words).returncode == 1
    lines = log.read_text().split("\n")
    assert "select=1:ncpus=1:ngpus=1:gpu_type=a100" in lines
    assert lines[lines.index("-A") + 1] == "me"
    assert "filesystems=home" in lines
    assert "walltime=00:01:00" in lines


def test_a_profile_starts_from_that_of_the_login_node_s_site(slurm_login: LoginNode) -> None:
    """A variable of the site names it; what Slurm says wins over the site's documents."""
    env = {"PATH": str(slurm_login.bin), "HOME": str(slurm_login.folder)}
    env["SYSTEMNAME"] = "juwelsbooster"
    done = jobgen("detect", "-o", "mine.yaml", cwd=slurm_login.folder, env=env)
    assert done.returncode == 0, done.stderr
    text = (slurm_login.folder / "mine.yaml").read_text()
    assert "# This is a login node of sites/juwels-booster" in text
    assert values(text)["extends"] == "sites/juwels-booster"
    assert values(text)["partition"] == "gpu"
    shown = jobgen("profiles", "show", "mine.yaml", cwd=slurm_login.folder).stdout.decode()
    assert re.search(r'^  interface: \["ib0"\] +# .*sites/juwels-booster', shown, re.MULTILINE)
    assert re.search(r'^partition: "gpu" +# .*mine.yaml', shown, re.MULTILINE)
    # A second time, when an own profile has the site's hosts, too.
    (slurm_login.folder / "profiles").mkdir()
    (slurm_login.folder / "profiles/own.yaml").write_text("extends: sites/juwels-booster\n")
    assert jobgen("detect", cwd=slurm_login.folder, env=env).stdout.decode() == text
    env["SYSTEMNAME"] = "another"
    done = jobgen("detect", cwd=slurm_login.folder, env=env)
    assert "extends" not in values(done.stdout)
