"""The Plan: a profile and a job, resolved and checked; all that a template sees.

Its parts have the names of the profile's. Most of them are the profile's records, with values that
are resolved, and with more fields. Sizes and counts are per node where they say so.
"""

# No `annotations` from __future__: `typing` compiles each annotation of a tuple that is text.
import re
from typing import NamedTuple

from jobgen.planning.program import Program
from jobgen.profiles import model
from jobgen.profiles.keys import software as software_keys
from jobgen.profiles.model import Node as Node
from jobgen.profiles.records import extended

SHARED_FILES_UP_TO = 64  # nodes: ranks of more make thousands of files on a shared file system
OFI = "AWS_OFI_NCCL_ROOT"
RAS = ("NCCL_RAS_ADDR", "NCCL_RAS_ENABLE")  # NCCL's answers on its state: where, and whether
# The beginning of the files' names: of torch 2.9 and newer, and of older ones (FlightRecorder.cpp).
DUMP_FILES = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")


class Variable(NamedTuple):
    """An environment variable, its value, in which $NAME is the node's, and the reason for it.

    Without a value, it is the one that who submits the job has.
    """

    name: str
    value: str | None
    why: str = ""


ARBITRARY = re.compile(r"(-m ?|--dist[a-z]*=)(?i:arbitrary|hostfile)([:,].*)?")


class Directive(NamedTuple):
    """An option of the scheduler that a person wrote, and where: an option or a key."""

    text: str
    place: str


@extended
class Request(model.Request):
    """What the scheduler is asked for."""

    __slots__ = ()
    partition: str | None
    queue: str | None
    account: str | None
    min_nodes: int  # `nodes` is the most, if it is less
    whole_nodes: bool  # no other job is on them: `exclusive`, or the partition does so
    tasks_per_node: int  # the scheduler's tasks: one agent, or one for each rank
    cpus_per_task: int | None
    gpus_per_node: int
    chunk: tuple[tuple[str, str], ...]  # type: ignore[assignment]  # more resources of PBS
    time: int | None  # type: ignore[assignment]  # seconds
    mail_on: tuple[str, ...]
    directives: tuple[Directive, ...]  # type: ignore[assignment]  # those of --directive last
    # Options of a job that no profile has: its field in Job has the same name.
    array: str | None = None
    after: tuple[str, ...] = ()  # ID or ID:KIND


@extended
class Software(software_keys.Software):
    """How Python, torch and the variables of the ranks are set up on a node."""

    __slots__ = ()
    libraries: tuple[tuple[str, str], ...]  # the user's own: the variable, the folder
    environment: tuple[Variable, ...]
    passed: tuple[str, ...]  # names of the variables that a container is given
    workspace: software_keys.Workspace | None
    build: tuple[str, ...]  # the words of the command that makes the environment of the lock

    @property
    def environment_name(self) -> str:
        """The name of the environment of the lock in the store; "" without a lock."""
        place = self.stage_from or self.venv or ""
        return place.rpartition("/")[2].partition(".")[0] if self.lock else ""

    @property
    def shell_lines(self) -> tuple[str, ...]:
        """All shell of a profile, in the order in which it runs."""
        return (*self.commands, *self.after_modules, *self.once_per_node)

    @property
    def submitted(self) -> tuple[str, ...]:
        """Names of the variables that have the value of who submits the job."""
        return tuple(each.name for each in self.environment if each.value is None)

    @property
    def login_shell(self) -> bool:
        """Whether the set-up needs a login shell, which defines `module` and `conda`."""
        return bool(self.modules or self.conda)


class Network(NamedTuple):
    """The network of the ranks."""

    interface: tuple[str, ...]  # empty: the script finds it on each node
    port: int | None  # None: the script computes it from the job's id
    socket_variables: tuple[Variable, ...] = ()  # set to the found interface; `value` is a prefix


@extended
class Launch(model.Launch):
    """How the ranks are started."""

    __slots__ = ()
    starter: str  # resolved; "" for local jobs
    processes_per_node: int
    step_options: tuple[str, ...]  # of every srun of the job
    rank_options: tuple[str, ...]  # of the srun that starts the ranks


class Plan(NamedTuple):
    """All that a template sees."""

    command: tuple[str, ...]  # the words of the command that makes the script
    profile: str
    description: str
    fingerprint: str  # of the profile with all that it extends
    scheduler: str  # slurm | pbs | local
    template: str  # the one without --template
    array_index: str  # the variable with the number of a job in its array
    node: Node
    request: Request
    software: Software
    network: Network
    launch: Launch
    program: Program = Program("command", "")
    name: str = ""
    has_own_name: bool = False  # the user gave it
    hosts: tuple[str, ...] = ()  # only by hand
    directives: tuple[str, ...] = ()
    slots: tuple[int, ...] = ()  # ranks of a host, as the file of hosts has them

    @property
    def elastic(self) -> bool:
        """Whether the job may start or continue with fewer nodes than `nodes`."""
        return self.request.min_nodes < self.request.nodes

    @property
    def engine(self) -> str:
        """The container's engine; "" if there is no container."""
        return self.software.container.engine if self.software.container else ""

    @property
    def engine_traits(self) -> software_keys.Engine:
        """What the container's engine is and does; nothing special if there is no container."""
        return software_keys.ENGINES.get(self.engine, software_keys.Engine())

    @property
    def observed(self) -> bool:
        """Whether lines of ranks begin with node and rank, and are kept in files."""
        in_engine = self.engine == "ce" and self.launch.launcher == "srun"  # srun starts them there
        return not (self.launch.plain or self.hosts or in_engine)

    @property
    def local_files(self) -> bool:
        """Whether ranks write their files on their node's own disk, to be fetched after a failure.

        Not where somebody reads them meanwhile: `--stall`, and who names a folder.
        """
        is_visible = not self.engine_traits.mounted_by_site
        is_read = self.launch.stall is not None or self.request.log_folder is not None
        is_large = self.request.nodes + self.request.spares > SHARED_FILES_UP_TO
        is_batch = self.scheduler != "local"
        return self.observed and is_batch and is_large and is_visible and not is_read

    @property
    def dumps(self) -> bool:
        """Whether ranks write torch's record of their NCCL (or RCCL) calls into the job's folder.

        It is written when a collective fails. Not if the profile or the user names another file.
        """
        return self._uses_nccl and not self._is_set(*DUMP_FILES)

    @property
    def asks_nccl(self) -> bool:
        """Whether NCCL is asked what it knows, before a job is ended that hangs.

        Not if the profile or the user sets where it answers, or that it does not.
        """
        return self._uses_nccl and self.launch.stall is not None and not self._is_set(*RAS)

    @property
    def shows_plugin(self) -> bool:
        """Whether the roll call has the version of aws-ofi-nccl: by a file outside a container."""
        software = self.software
        nets = {each.value for each in software.environment if each.name == "NCCL_NET"}
        is_used = bool(nets & {"AWS Libfabric", "Libfabric"} or dict(software.libraries).get(OFI))
        return self._uses_nccl and is_used and not software.container

    @property
    def _uses_nccl(self) -> bool:
        """Whether the ranks of a checked job talk by NCCL, or by RCCL, which is alike."""
        ranks = self.request.nodes * self.launch.processes_per_node
        has_gpus = self.node.gpu in ("nvidia", "amd") and self.request.gpus_per_node > 0
        return has_gpus and ranks > 1 and not (self.launch.plain or self.hosts)

    def _is_set(self, *names: str) -> bool:
        """Whether the profile or the user sets one of these variables."""
        software = self.software
        lines = (*software.shell_lines, *(each.name for each in software.environment))
        return any(name in line for line in lines for name in names)

    @property
    def ordered_at(self) -> str:
        """Where a file of the user orders the hosts, SLURM_HOSTFILE (srun(1)); "" if none does."""
        options = [Directive(each, "launch.srun_options") for each in self.launch.rank_options]
        found = (*self.request.directives, *options)
        places = [each.place for each in found if ARBITRARY.fullmatch(each.text)]
        return places[0] if places and self.scheduler == "slurm" and self.request.nodes > 1 else ""

    @property
    def excludes(self) -> bool:
        """Whether the job goes back to the queue without nodes that are not ready."""
        may_exclude = self.launch.requeue and self.launch.exclude_at_most > 0
        return may_exclude and self.request.nodes > 1 and self.scheduler == "slurm"

    @property
    def replaces(self) -> bool:
        """Whether a spare takes the place of a node that is lost while the job runs."""
        restarts = self.launch.max_restarts > 0 and self.launch.launcher == "torchrun"
        return self.request.spares > 0 and restarts

    @property
    def hides_gpus(self) -> bool:
        """Whether the ranks run on the CPU although there may be GPUs."""
        requested = self.request.gpus_per_node > 0 or self.scheduler == "local"
        return self.node.gpu == "none" and requested

    @property
    def needs_torch(self) -> bool:
        """Whether python3 must have torch: always, except for a command under another launcher."""
        return self.launch.launcher == "torchrun" or self.program.kind != "command"

    @property
    def selects_gpus(self) -> str:
        """The variable that selects the GPUs of a process, by their numbers."""
        names = {"amd": "ROCR_VISIBLE_DEVICES", "intel": "ZE_AFFINITY_MASK"}
        return names.get(self.node.gpu, "CUDA_VISIBLE_DEVICES")

    @property
    def expected_cores(self) -> int:
        """The cores that the check of a node expects: a task's, or else one for each of its ranks.

        0, and no check, where the profile itself binds the ranks.
        """
        bound = any(text.startswith("--cpu-bind") for text in self.launch.rank_options)
        if bound or self.launch.cpu_bind:
            return 0
        return self.request.cpus_per_task or self.ranks_per_task

    @property
    def ranks_per_task(self) -> int:
        """The ranks that share the cores of a task: of a node, or with srun a rank's own."""
        return 1 if self.launch.launcher == "srun" else self.launch.processes_per_node

    @property
    def checked_gpus(self) -> int:
        """The GPUs that torch must see on a node; 0: not checked."""
        uses_gpus = self.node.gpu != "none" and self.needs_torch
        return self.request.gpus_per_node if uses_gpus else 0
