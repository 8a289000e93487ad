"""The Plan: a profile and a job, resolved and checked; all that a template sees.

Its parts have the names of the profile's. Sizes and counts are per node where they say so.
"""

# No `annotations` from __future__: `typing` compiles each annotation of a tuple that is text.
from typing import NamedTuple

from jobgen.planning.program import Program
from jobgen.profiles.software_keys import Container, Workspace

MOUNTED_BY_SITE = ("shifter", "ce")  # engines whose containers see what the site chose
SHARED_FILES_UP_TO = 64  # nodes: ranks of more make thousands of files on a shared file system


class Variable(NamedTuple):
    """An environment variable, its value, in which $NAME is the node's, and the reason for it.

    Without a value, it is the one that who submits the job has.
    """

    name: str
    value: str | None
    why: str = ""


class Node(NamedTuple):
    """One compute node."""

    gpu: str  # nvidia | amd | intel | none
    gpu_type: str | None
    arch: str | None  # what `uname -m` must print
    memory: str | None


class Directive(NamedTuple):
    """An option of the scheduler that a person wrote, and where: an option or a key."""

    text: str
    place: str


class Request(NamedTuple):
    """What the scheduler is asked for."""

    partition: str | None
    queue: str | None
    account: str | None
    qos: str | None
    reservation: str | None
    constraint: str | None
    nodes: int  # the most, if `min_nodes` is less
    min_nodes: int
    spares: int  # nodes in reserve, beside `nodes`
    tasks_per_node: int  # the scheduler's tasks: one agent, or one for each rank
    cpus_per_task: int | None
    gpus_per_node: int
    gpu_option: str | None
    chunk: tuple[tuple[str, str], ...]  # more resources of PBS
    place: str | None
    exclusive: bool
    memory: str | None  # `all` or a size
    memory_per_cpu: str | None
    memory_per_gpu: str | None
    hint: str | None
    threads_per_core: int | None
    licenses: str | None
    exclude: str | None  # a list of nodes
    chdir: str | None  # the folder that the job runs in
    time: int | None  # seconds
    output: str | None
    error: str | None  # None: the error stream goes to `output`
    log_folder: str | None  # None: it goes when the job ends well
    live_output: bool
    mail: str | None
    mail_on: tuple[str, ...]  # begin, end, fail
    array: str | None = None
    after: tuple[str, ...] = ()  # ID or ID:KIND
    directives: tuple[Directive, ...] = ()  # of the profile, then those of --directive


class Software(NamedTuple):
    """How Python, torch and the variables of the ranks are set up on a node."""

    modules: tuple[str, ...]
    venv: str | None
    conda: str | None
    libraries: tuple[tuple[str, str], ...]  # the user's own: the variable, the folder
    commands: tuple[str, ...]  # shell lines, before the modules
    after_modules: tuple[str, ...]
    once_per_node: tuple[str, ...]
    jobgen: str | None  # a jobgen on the nodes; None: the one on PATH
    environment: tuple[Variable, ...]
    container: Container | None = None
    passed: tuple[str, ...] = ()  # names of the variables that a container is given
    workspace: Workspace | None = None
    stage: str | None = None  # venv | folder | squashfs
    stage_from: str | None = None  # the environment that is copied to each node's own disk
    stage_to: str | None = None

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


class Launch(NamedTuple):
    """How the ranks are started."""

    launcher: str  # torchrun | srun | mpiexec | node
    rendezvous: str  # standalone | c10d | static
    starter: str  # resolved; "" for local jobs
    processes_per_node: int
    max_restarts: int
    join_timeout: int  # seconds
    stop_grace: int  # seconds
    requeue: bool
    exclude_at_most: int  # nodes that are not ready
    signal: int | None  # seconds before the walltime
    cpu_bind: str | None  # as srun or mpiexec writes it
    step_options: tuple[str, ...]  # of every srun of the job
    rank_options: tuple[str, ...]  # of the srun that starts the ranks
    numa_binding: str | None
    plain: bool
    stall: int | None  # minutes
    mpiexec_options: tuple[str, ...] = ()  # if it is the launcher


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

    @property
    def elastic(self) -> bool:
        """Whether the job may start or continue with fewer nodes than `nodes`."""
        return self.request.min_nodes < self.request.nodes

    @property
    def engine(self) -> str:
        """The container's engine; "" if there is no container."""
        return self.software.container.engine if self.software.container else ""

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
        request, is_visible = self.request, self.engine not in MOUNTED_BY_SITE
        is_read = self.launch.stall is not None or request.log_folder is not None
        is_large = request.nodes + request.spares > SHARED_FILES_UP_TO
        is_batch = self.scheduler != "local"
        return self.observed and is_batch and is_large and is_visible and not is_read

    @property
    def excludes(self) -> bool:
        """Whether the job goes back to the queue without nodes that are not ready."""
        launch, several = self.launch, self.request.nodes > 1
        return (
            launch.requeue and launch.exclude_at_most > 0 and several and self.scheduler == "slurm"
        )

    @property
    def replaces(self) -> bool:
        """Whether a spare takes the place of a node that is lost while the job runs."""
        launch = self.launch
        return self.request.spares > 0 and launch.max_restarts > 0 and launch.launcher == "torchrun"

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
    def checked_gpus(self) -> int:
        """The GPUs that torch must see on a node; 0: not checked."""
        uses_gpus = self.node.gpu != "none" and self.needs_torch
        return self.request.gpus_per_node if uses_gpus else 0
