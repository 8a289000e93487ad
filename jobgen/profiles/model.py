"""What a cluster is: the frozen Profile, with one row for each key."""

# No `annotations` from __future__: `typing` compiles each annotation of a tuple that is text.
from collections.abc import Mapping
from typing import NamedTuple

from jobgen.bounds import JOB_TEXT_BYTES
from jobgen.profiles.keys.launch import Launch as Launch
from jobgen.profiles.keys.limits import JobLimits
from jobgen.profiles.keys.limits import Limits as Limits
from jobgen.profiles.keys.request import Request as Request
from jobgen.profiles.keys.software import Software, Workspace
from jobgen.profiles.keys.sources import DAY, KeyPath, Sources
from jobgen.profiles.kinds import (
    CPUS,
    FREE,
    INTERFACE,
    NODE,
    VARIABLE,
    WORD,
    Choice,
    Int,
    Text,
)
from jobgen.profiles.records import ListOf, MapOf, Record, record, row
from jobgen.profiles.units import Size


@record
class Node(NamedTuple):
    """One compute node."""

    cpus: int | None = row(
        CPUS,
        "Cores of a node that a job can use: on a site that keeps some for the system, fewer than "
        "`sinfo -o %c` shows (CPUEfctv in `scontrol show node`). Hardware threads, where that "
        "counts them and scripts ask for them; with request.hint `nomultithread`, cores. Without "
        "request.cpus_per_gpu and its like, a job gets all cores of an exclusive node; else the "
        "share of its GPUs, or one for each rank.",
    )
    gpus: int = row(Int(0, 64), "GPUs of a node.", 0)
    gpu: str = row(
        Choice("nvidia", "amd", "intel", "none"),
        "The vendor of the GPUs. `none`: the job requests the same, but the ranks run on the CPU.",
        "none",
    )
    gpu_type: str | None = row(
        Text("[A-Za-z0-9_][A-Za-z0-9_.-]*", "the name of a type of GPUs, such as gh200"),
        "Slurm: the type of the GPUs, where the site's documentation requests one: `gh200` in "
        "--gres=gpu:gh200:4.",
        example="gh200",
        absent={
            "pbs": "`request.chunk` with the site's resource, such as gpu_model: a100; "
            "`request.gpu_option: ngpus` requests their number"
        },
    )
    memory: str | None = row(
        Size("512G", is_requested=False),
        "Memory of a node; a job requests it with `request.memory`.",
        example="512G",
    )
    arch: str | None = row(
        Choice("x86_64", "aarch64", "ppc64le"), "What `uname -m` prints on a node; checked if set."
    )


@record
class Variable(NamedTuple):
    """An environment variable of the ranks."""

    value: str | None = row(
        Text(any_scalar=True, most=JOB_TEXT_BYTES, dollar=NODE), "Its value.", example="INFO"
    )
    why: str = row(
        Text(r"[^\x00-\x09\x0b-\x1f\x7f]*", "text", dollar=FREE),
        "Why it is set; a comment in the script.",
        "",
        example="NCCL's choice of a network is in the output.",
    )
    nodes: str = row(
        Choice("any", "several"), "`several`: set only in a job of several nodes.", "any"
    )


@record
class Network(NamedTuple):
    """The network of the ranks."""

    interface: tuple[str, ...] | None = row(
        ListOf(INTERFACE, or_one=True),
        "The interface for the addresses of the nodes. Of several, the first is for addresses, and "
        "NCCL's bootstrap uses all. Default: on node 0 the interface that its name resolves to, on "
        "the other nodes the one that leads to node 0.",
        example="[hsn0, hsn1]",
    )
    port: int | None = row(
        Int(1024, 65535),
        "The rendezvous port on exclusive nodes; else, or by default, computed from the job's id.",
    )
    environment: Mapping[str, Variable] = row(
        MapOf(Record(Variable, short="value"), VARIABLE),
        "Variables that the fabric needs.",
        dict,
        example="{NCCL_DEBUG: INFO, HF_HOME: $SCRATCH/hf}",
    )


@record
class Profile(NamedTuple):
    """A cluster, as jobgen knows it."""

    description: str = row(
        Text(dollar=FREE),
        "One line for `jobgen profiles list`.",
        "",
        example="four A100 a node, InfiniBand, Slurm",
    )
    state: str | None = row(
        Choice("documented", "submitted", "ran", "retired"),
        "What is known of the profile. `documented`: it is from the site's documents. `submitted`: "
        "the site's scheduler took its script. `ran`: a job of several nodes ended well there. "
        "`retired`: the machine has ended, and no script is written.",
    )
    ends: str | None = row(
        DAY, "The machine's last day; after it, no script is written.", example="2027-06-30"
    )
    successor: str | None = row(
        WORD, "The profile of the machine that follows.", example="sites/roihu"
    )
    contact: str | None = row(
        WORD, "Where its users get help: an address, or mail.", example="https://example.org/help"
    )
    hosts: tuple[str, ...] = row(
        ListOf(Text(r"(?=.*\w)[^\s=]+(=\S+)?", "a pattern, or NAME=VALUE", dollar=FREE)),
        "How its login nodes are known: patterns of host names, or NAME=VALUE, a variable that the "
        "site sets there.",
        (),
        example='["login*.example.org", CLUSTER=example]',
    )
    needs: tuple[str, ...] = row(
        ListOf(KeyPath(WORD.pattern, "a key, with its groups")),
        "Keys that a site's profile cannot have, and that each job there needs: by an option, or "
        "by your own profile. jobgen warns of a job without one.",
        (),
        example="[account, software.venv]",
    )
    extends: tuple[str, ...] = row(
        ListOf(WORD, or_one=True),
        "Base profiles, by name or path (*.yaml); later ones win.",
        (),
        example="fabrics/infiniband",
    )
    scheduler: str | None = row(
        Choice("slurm", "pbs", "local"), "The scheduler; unset if others only extend the profile."
    )
    slurm_version: str | None = row(
        Text(r"\d{2}\.\d{2}[\w.-]*", "a version of Slurm, such as 24.11"),
        "The version of Slurm, as `sinfo --version` has it; an option that it lacks is refused. "
        "Unset: sbatch refuses it when the job is submitted.",
        example='"24.11"',
        absent={"pbs": "it is for Slurm", "local": "it is for Slurm"},
    )
    partition: str | None = row(
        WORD,
        "Slurm: the partition; default: the site's.",
        example="gpu",
        absent={"pbs": "PBS has a `queue`"},
    )
    queue: str | None = row(
        WORD,
        "PBS: the queue; default: the site's.",
        example="gpu",
        absent={"slurm": "Slurm has a `partition`"},
    )
    account: str | None = row(WORD, "The account that is charged.", example="physics")
    limits: Limits = row(Record(Limits), "The most that one job gets.", Limits)
    node: Node = row(Record(Node), "One compute node.", Node)
    request: Request = row(Record(Request), "What a job asks the scheduler for.", Request)
    network: Network = row(Record(Network), "The network of the ranks.", Network)
    software: Software = row(Record(Software), "How a node loads Python and torch.", Software)
    workspace: Workspace | None = row(
        Record(Workspace), "The git repository of a PROGRAM that does not begin with /."
    )
    launch: Launch = row(Record(Launch), "How the ranks are started.", Launch)
    trainer: str = row(
        Text(r"(?!.*\.py)[A-Za-z0-9_][A-Za-z0-9_.+@%-]*", "the name of a packaged trainer"),
        "The packaged trainer of a job without a program.",
        "elastic_ddp",
        example="regression",
    )
    sources: Sources = row(
        Record(Sources), "The documents that the values of this file are from.", Sources
    )

    @property
    def limits_of_job(self) -> list[JobLimits]:
        """The limits of the job in each partition or queue that it is for."""
        return self.limits.of(self.partition or self.queue, self.request.qos)

    def with_place(self, name: str | None, qos: str | None) -> "Profile":
        """The profile with another partition or queue, and another QOS, if they are named."""
        profile = self._replace(partition=name, queue=None) if name else self
        return profile._replace(request=self.request._replace(qos=qos)) if qos else profile

    @property
    def gpus_per_node(self) -> int:
        """The GPUs on each node that a job requests."""
        amount = self.request.gpus_per_node
        return self.node.gpus if amount is None else amount

    @property
    def ranks_per_node(self) -> int:
        """The ranks on each node: one for each GPU, unless the profile has a number."""
        return self.launch.processes_per_node or max(self.gpus_per_node, 1)

    @property
    def most_gpus_per_node(self) -> tuple[str, int]:
        """The path and the value of the most GPUs that a job may have on a node."""
        found = [each.find("gpus_per_node") for each in self.limits_of_job]
        limits = [(path, most) for path, most in found if most is not None]
        if len(limits) == len(found):
            return max(limits, key=lambda each: each[1])
        if (most := self.limits.gpus_per_node) is not None:
            return "limits.gpus_per_node", most
        return "node.gpus", self.node.gpus

    @property
    def has_whole_nodes(self) -> bool:
        """Whether no other job is on a job's nodes: it requests this, or its partition does so."""
        limits = [each.find("shared")[1] for each in self.limits_of_job]
        return self.request.exclusive or all(shared is False for shared in limits)


ROOT = Record(Profile)
