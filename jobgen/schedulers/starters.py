"""What starts the nodes of a job, and which launchers and options go with it."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING

from jobgen.profiles.software_keys import ENGINES
from jobgen.schedulers.mpiexec import NAMES, binding_problem

if TYPE_CHECKING:
    from jobgen.profiles.model import Profile

Note = Callable[[str, str, str], None]  # path, text, hint
MPIEXEC = tuple(NAMES)
# On Slurm, these start nodes without Slurm: processes are neither in a step nor in its cgroup.
OUTSIDE_SLURM = ("ssh", "mpirun")
# These start one node for each process, all of them from the first node, which a lead waits for.
ONE_NODE_EACH = ("pbs_tmrsh", "pbsdsh", "ssh")
MOST_STARTED = 512  # nodes; each takes a process and three open files of the lead
_PLANNED = "-n -np --np -N --ppn -ppn --npernode -f --hostfile -machinefile --hosts".split()


def starter_of(profile: Profile, starters: tuple[str, ...]) -> str:
    """The starter of a job: the profile's, or the scheduler's default; "" if it has none."""
    return profile.launch.starter or (starters[0] if starters else "")


def starter_conflicts(profile: Profile, starters: tuple[str, ...], note: Note) -> None:
    """Note the values of a profile that its starter does not have; the first of `starters` is the
    scheduler's default."""
    launch = profile.launch
    if launch.starter and starters and launch.starter not in starters:
        text = f"{profile.scheduler} has no starter `{launch.starter}`"
        note("launch.starter", text, f"one of: {', '.join(starters)}")
        return
    starter = starter_of(profile, starters)
    if profile.scheduler == "pbs":
        _pbs(profile, starter, note)
    elif starter in OUTSIDE_SLURM:
        _outside_slurm(profile, starter, note)


def _pbs(profile: Profile, starter: str, note: Note) -> None:
    launch = profile.launch
    if profile.request.spares and starter in MPIEXEC:
        text = "an mpiexec ends all nodes when it loses one"
        hint = f"--set launch.starter={ONE_NODE_EACH[0]} (or {', '.join(ONE_NODE_EACH[1:])})"
        note("request.spares", text, hint)
    if launch.launcher != "mpiexec":
        if launch.mpiexec_options:
            hint = "the launcher mpiexec, or --set launch.mpiexec_options=null"
            note("launch.mpiexec_options", "no mpiexec starts the ranks", hint)
        if launch.cpu_bind:
            text = f"PBS binds nothing to cores, and the launcher {launch.launcher} neither"
            hint = "the launcher mpiexec, or --set launch.cpu_bind=null"
            note("launch.cpu_bind", text, hint)
        return
    if starter not in MPIEXEC:
        text = f"the launcher mpiexec needs an mpiexec as its starter, not {starter}"
        note("launch.starter", text, f"one of: {', '.join(MPIEXEC)}")
    elif launch.cpu_bind:
        found = binding_problem(starter, launch.cpu_bind, profile.node.cpus)
        if found:
            note("launch.cpu_bind", *found)
    for option in launch.mpiexec_options:
        if option in _PLANNED:
            hint = "-N, or --set launch.processes_per_node=N"
            note("launch.mpiexec_options", f"jobgen sets {option} itself", hint)
    if launch.plain and starter == "mpiexec-mpich":
        text = (
            "if a rank fails, the mpiexec of MPICH, and so the plain script, waits for the others"
        )
        note("launch.plain", text, "remove --plain (launch.plain)")
    if launch.rendezvous == "static":
        text = "the ranks of mpiexec meet at MASTER_ADDR, without a rendezvous of torchrun"
        note("launch.rendezvous", text, "leave it out, or use the launcher torchrun")


def _outside_slurm(profile: Profile, starter: str, note: Note) -> None:
    """Note what a starter other than srun lacks, since Slurm does it for its own steps alone."""
    launch, request, container = profile.launch, profile.request, profile.software.container
    reasons = {
        "launch.requeue": f"a job of {starter} is not put back into the queue",
        "launch.cpu_bind": "only srun binds tasks to cores",
        "launch.srun_options": "these options are srun's",
        "launch.oom_kill_step": "only a step of srun is ended as a whole",
        "request.spares": "only srun starts ranks on some of the job's nodes",
    }
    reasons = {path: text for path, text in reasons.items() if attrgetter(path)(profile)}
    if launch.launcher == "srun":
        reasons["launch.launcher"] = "srun starts the ranks itself"
    if request.min_nodes and request.min_nodes < request.nodes:
        reasons["request.min_nodes"] = "only srun goes on when a node is lost"
    for path, text in reasons.items():
        note(path, text, f"the starter srun instead of {starter}, or remove {path}")
    if container and not ENGINES[container.engine].ends_with_processes:
        text = "only Slurm, for what srun starts, ends containers of this engine"
        ending = [name for name, engine in ENGINES.items() if engine.ends_with_processes]
        hint = f"the starter srun, or the engine {' or '.join(ending)}"
        note("software.container.engine", text, hint)
    gpus = profile.node.gpus if request.gpus_per_node is None else request.gpus_per_node
    if profile.node.gpu != "none" and gpus < profile.node.gpus and not request.exclusive:
        text = f"Slurm gives GPUs to what srun starts; by {starter}, jobs would use each other's"
        note("launch.starter", text, "whole nodes (request.exclusive), or all GPUs of a node")
