"""Finds values of a resolved profile that exclude each other, which no single row can check."""

import re
from collections.abc import Callable, Mapping
from itertools import combinations
from operator import attrgetter

from jobgen.errors import Mark, Problem
from jobgen.profiles.keys.software import ENGINES, Container
from jobgen.profiles.model import Profile
from jobgen.profiles.yaml_tree import as_yaml
from jobgen.quoting import variable_problem

Note = Callable[[str, str, str], None]  # path, text, hint
Check = Callable[[Profile, Note], None]

_SET = re.compile(r"--set (?:'([\w.]+)=([^']*)'|([\w.]+)=([^\s,;)]*))")
_SETS = re.compile(rf"{_SET.pattern}(?: {_SET.pattern})*")
_DIRECTIVE = re.compile(r"--directive=(?:'([^']*)'|(\S+))")
OUTSIDE_CONTAINER = ("venv", "lock", "conda", "nccl_root", "aws_ofi_nccl_root")


def at_origin(each: Problem, origins: Mapping[str, Mark]) -> Problem:
    """Returns a problem of the value at a path, at the place where the value was set.

    For a file, the hint has a key instead of the words of a command line (`--set a.b=c`).
    """
    mark = origins.get(each.mark.file, each.mark)
    if not mark.line:
        return each._replace(mark=mark)
    hint = _SETS.sub(_as_group, each.hint)
    return each._replace(mark=mark, hint=_DIRECTIVE.sub(r"`\1\2`", hint))


def _as_group(found: re.Match[str]) -> str:
    from jobgen.profiles.mistakes.lines import together

    pairs = [(each[1] or each[3], each[2] or each[4]) for each in _SET.finditer(found[0])]
    return together(f"write `{as_yaml(*pair)}`" for pair in pairs).removeprefix("write ")


def conflicts(
    profile: Profile, origins: Mapping[str, Mark], more_checks: tuple[Check, ...] = ()
) -> list[Problem]:
    """Returns all conflicts of a profile; `more_checks` are the checks of the schedulers."""
    found: list[Problem] = []

    def note(path: str, text: str, hint: str) -> None:
        mark = Mark(path if path in origins else "the profile")
        each = at_origin(Problem(mark, text, "conflict", hint), origins)
        found.append(each._replace(hint=_of_options(path, text, origins) or each.hint))

    own_checks = (_software, _made_venv, _stage, _workspace, _request, _plain, _variables)
    for check in (*own_checks, *more_checks):
        check(profile, note)
    return found


def _of_options(path: str, text: str, origins: Mapping[str, Mark]) -> str:
    """Returns the option that removes one of two keys, if options set only the other; else ""."""
    if not (pair := re.match(r"`(\w+)` and `(\w+)` are both set", text)):
        return ""
    group = path.rpartition(".")[0]
    paths = [f"{group}.{name}" for name in pair.groups()]
    of_options = [f"{key}." for key, mark in origins.items() if not mark.line]
    others = [each for each in paths if not any(key.startswith(f"{each}.") for key in of_options)]
    return f"add --set {others[0]}=null" if len(others) == 1 else ""


def _software(profile: Profile, note: Note) -> None:
    software, container = profile.software, profile.software.container
    for one, other in combinations(("venv", "lock", "conda"), 2):
        if getattr(software, one) and getattr(software, other):
            hint = "keep one; null removes the one of a base"
            note(f"software.{one}", f"`{one}` and `{other}` are both set", hint)
    if container is None:
        return
    _image(container, note)
    _options(container, note)
    for name in OUTSIDE_CONTAINER:
        if getattr(software, name):
            hint = "ranks run in the container, and do not see it: keep one of the two"
            note(f"software.{name}", f"`{name}` and `container` are both set", hint)
    engine = ENGINES[container.engine]
    if container.runscript and not engine.ends_with_processes:
        text = f"{container.engine} has no `run` beside `exec`"
        note("software.container.runscript", text, "apptainer or singularity")
    if not engine.takes_devices:
        _host_devices(container, engine.mount_separator, note)
    if engine.is_step and profile.scheduler not in ("slurm", None):
        hint = "podman, docker, apptainer or singularity"
        note("software.container.engine", f"{container.engine} is a part of Slurm", hint)
    if container.engine == "pyxis" and profile.launch.launcher in ("srun", "mpiexec"):
        hint = "the launcher torchrun, or another engine"
        why = "Slurm would number the ranks anew in each container of pyxis"
        note("launch.launcher", f"with the launcher srun, {why}", hint)


def _made_venv(profile: Profile, note: Note) -> None:
    """Notes an environment that is activated before `once_per_node` makes it."""
    software = profile.software
    for line in software.after_modules:
        found = re.match(r"\s*(?:source|\.)\s+[\"']?(\S+)/bin/activate", line)
        made = found and rf"venv\s.*{re.escape(found[1])}"
        if found and any(re.search(str(made), each) for each in software.once_per_node):
            text = "this runs before `once_per_node` makes the environment"
            note("software.after_modules", text, f"`venv: {found[1]}` activates it instead")


def _stage(profile: Profile, note: Note) -> None:
    """Notes mistakes in `stage`, which copies one environment to the own disks of a job's nodes."""
    software, kind = profile.software, profile.software.stage
    if kind is None:
        if software.stage_from:
            note("software.stage_from", "`stage_from` without `stage`", "stage: folder or squashfs")
        return
    if software.lock and software.stage_from:
        text = "`lock` and `stage_from` are both set"
        note("software.stage_from", text, "the lock names what `stage: venv` and `squashfs` copy")
    if kind == "venv" and not software.lock and (not software.venv or software.stage_from):
        text = "`stage: venv` copies the folder that `venv` names"
        note("software.stage", text, "set `venv` alone; or `stage: folder` with `stage_from`")
    if kind != "venv" and not software.stage_from and not software.lock:
        note("software.stage", f"`stage: {kind}` has no `stage_from`", "name the environment")
    others = {"venv": ("container",), "folder": ("container", "venv", "conda", "lock")}
    for name in others.get(kind, ("container", "venv", "conda")):
        if getattr(software, name):
            text = f"`{name}` and `stage: {kind}` are both set"
            note("software.stage", text, f"the ranks have one Python: remove `stage` or `{name}`")
    if profile.scheduler == "local":
        text = "a local job reads its environment where it is"
        note("software.stage", text, "null removes the value of a base")


def _options(container: Container, note: Note) -> None:
    """Notes an option and its value in one entry, which would be one word."""
    for option in container.options:
        if found := re.match(r"(-{1,2}[A-Za-z][\w-]*)\s+(.*)", option):
            text = f"{option!r:.60} would be one word"
            hint = f"two entries, {found[1]!r} and {found[2]!r:.40}; or --OPTION=VALUE"
            note("software.container.options", text, hint)


def _image(container: Container, note: Note) -> None:
    """Notes a missing image; for ce, an environment, whose file names the image and the mounts."""
    is_ce = container.engine == "ce"
    if container.environment and not is_ce:
        text = f"`environment` is for the engine ce, and this one is {container.engine}"
        hint = "--set software.container.engine=ce, or an `image` instead"
        note("software.container.environment", text, hint)
    elif not container.image and not is_ce:
        note("software.container", "`software.container` has no `image`", "name one")
    elif is_ce and not container.environment:
        text = "with the engine ce, `software.container` has no `environment`"
        hint = "--set software.container.environment=NAME, as for srun --environment"
        note("software.container", text, hint)
    for name in ("image", "mounts") if is_ce else ():
        if getattr(container, name):
            text = f"with the engine ce, the file that `environment` names has the {name}"
            note(f"software.container.{name}", text, "write it there; null removes a base's value")


def _host_devices(container: Container, separator: str, note: Note) -> None:
    """Notes options for devices, which the engine always shows, and a mount with its separator."""
    for name in ("devices", "groups", "privileged"):
        if getattr(container, name):
            text = f"{container.engine} has the host's devices, and no `{name}`"
            note(f"software.container.{name}", text, "null removes the value of a base")
    for mount in container.mounts:
        if separator in mount:
            why = f"which separates mounts for {container.engine}"
            text = f"{mount!r:.80} has a `{separator}`, {why}"
            note("software.container.mounts", text, "another path")


def _workspace(profile: Profile, note: Note) -> None:
    if profile.workspace and profile.software.code:
        text = "the program is in a copy of `software.code`, or in `workspace`"
        note("software.code", text, "workspace=null, or no --code")
    for name in ("url", "commit", "folder"):
        if profile.workspace and getattr(profile.workspace, name) is None:
            note("workspace", f"`workspace` has no `{name}`", "it needs url, commit and folder")


def _request(profile: Profile, note: Note) -> None:
    request = profile.request
    if profile.scheduler == "slurm" and (found := variable_problem(request.chdir or "")):
        note("request.chdir", f"on Slurm, {found[0]}", found[2])
    for names in (
        ("memory", "memory_per_cpu", "memory_per_gpu"),
        ("cpus_per_gpu", "cpus_per_node", "cpus_per_task"),
    ):
        first, *others = [name for name in names if getattr(request, name)] or [""]
        for name in others:
            text = f"`{first}` and `{name}` are both set"
            note(f"request.{name}", text, "keep one; null removes the one of a base")
    if request.cpus_per_gpu and profile.scheduler and not profile.node.gpus:
        text = "`cpus_per_gpu`, and a node has no GPUs"
        note("request.cpus_per_gpu", text, "set `node.gpus`, or `cpus_per_node` instead")
    if request.hint and request.threads_per_core:
        text = "Slurm takes only one of `hint` and `threads_per_core`"
        note("request.threads_per_core", text, "keep one; null removes the one of a base")
    most, segment = request.nodes + request.spares, request.segment or 1
    for nodes in {request.min_nodes or most, most}:
        if rest := nodes % segment if nodes > segment else 0:
            text = f"{nodes} nodes are not a multiple of the {segment} of a segment"
            note("request.segment", text, f"{nodes - rest} or {nodes - rest + segment} nodes")
    if profile.launch.expedite and not profile.launch.requeue:
        note("launch.expedite", "`expedite` without `requeue`", "--requeue (launch.requeue)")
    if profile.launch.chain and profile.launch.requeue:
        text = "in a chain, the next job goes on after the walltime or a lost node"
        note("launch.requeue", text, "remove --requeue (launch.requeue), or --chain")
    if request.min_nodes and request.min_nodes > request.nodes:
        text = f"at least {request.min_nodes} of {request.nodes} nodes"
        note("request.min_nodes", text, "-N MIN:MAX, the smaller number first")


# Keys that the plain script cannot follow, since it has no machinery.
_NOT_PLAIN = {
    "launch.requeue": "the plain script cannot put the job back into the queue",
    "launch.chain": "the plain script does not know how its job ended",
    "launch.stall": "the plain script does not watch the ranks",
    "software.stage": "the plain script copies nothing",
    "request.log_folder": "the plain script keeps no logs",
    "launch.signal": "the plain script passes no signal to the ranks",
    "launch.max_restarts": "the plain script starts nothing again",
    "request.spares": "the plain script checks no node, so it chooses none",
}


def _plain(profile: Profile, note: Note) -> None:
    request, launch = profile.request, profile.launch
    if not launch.plain:
        return
    reasons = {path: text for path, text in _NOT_PLAIN.items() if attrgetter(path)(profile)}
    if request.min_nodes and request.min_nodes < request.nodes:
        reasons["request.min_nodes"] = "the plain script fails when a node is lost"
    if launch.starter == "pbsdsh":
        text = "pbsdsh always exits with 0, so the plain script cannot detect a failure"
        reasons["launch.starter"] = text
    for path, text in reasons.items():
        note(path, text, f"remove --plain (launch.plain), or {path}")
    if profile.software.once_per_node and launch.launcher in ("srun", "mpiexec"):
        text = f"the plain script starts the ranks of {launch.launcher} all at once"
        hint = "remove --plain (launch.plain), or the launcher torchrun"
        note("software.once_per_node", text, hint)


# ---- names of environment variables that no profile and no job may set ----
# Bash does not let a script set these variables, or gives their values a meaning (some are
# arithmetic, which runs commands: `export RANDOM='x[$(id)]'`), or they change how bash reads a
# script, or bash runs them at a prompt.
_SHELL = """
CDPATH DIRSTACK EPOCHREALTIME EPOCHSECONDS EUID EXECIGNORE FUNCNAME FUNCNEST GLOBIGNORE GROUPS
HISTCMD IFS LINENO MAILPATH OPTIND PIPESTATUS POSIXLY_CORRECT PPID RANDOM SECONDS SHELLOPTS SHLVL
SRANDOM TMOUT UID _ PROMPT_COMMAND PS0 PS1 PS2 PS4 PWD OLDPWD histchars
"""
# The scheduler and the launchers set these variables.
_LAUNCH = """
GROUP_RANK GROUP_WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT RANK ROLE_NAME
ROLE_RANK ROLE_WORLD_SIZE TORCHELASTIC_ERROR_FILE TORCHELASTIC_MAX_RESTARTS
TORCHELASTIC_RESTART_COUNT TORCHELASTIC_RUN_ID TORCHELASTIC_USE_AGENT_STORE WORLD_SIZE
SLURM_ARRAY_TASK_ID SLURM_HOSTFILE SLURM_JOB_ID SLURM_JOB_NAME SLURM_JOB_NODELIST
SLURM_JOB_NUM_NODES SLURM_LOCALID SLURM_NNODES SLURM_NODEID SLURM_NTASKS SLURM_PROCID
SLURMD_NODENAME SRUN_CPUS_PER_TASK
PMI_RANK PMI_SIZE MPI_LOCALRANKID PALS_RANKID PALS_LOCAL_RANKID
OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_LOCAL_RANK OMPI_COMM_WORLD_SIZE
"""
# The scripts' own variables; `tests/test_golden.py` compares them with the scripts.
_SCRIPT = """
address after allowed arch bad before boot by_slurm cancel_rest cause chain changed chosen code
comment copy cores cure devices each each_node end ended environment event exclude_at_most exported
fault file files first folder folders free gpu_api gpus head host hosts how id image
in_reserve in_use index interface itself job jobgen jobs join_timeout keep keep_logs keeper kind
label last lead limit line lock logs looks lost max_restarts min_nodes mine most mount mounts name
named near need newest next node nodes now number other others own part passed peer pid pids place
plugin port program progress python rank rank_files rank_step ras_port read_timeout ready remaining
reserve rest restart sent signs size sort_key spares stage_from stage_to stall start start_ranks
starter status stop_grace sum text torch trainer unsafe usual values variable variables warn_after
watcher well when workspace workspace_url
"""
RESERVED = frozenset((_SHELL + _LAUNCH + _SCRIPT).split())


def is_reserved(name: str) -> bool:
    """Whether no job may set the environment variable `name`."""
    return name in RESERVED or name.startswith(("JOBGEN_", "BASH", "PBS_"))


def _variables(profile: Profile, note: Note) -> None:
    for name, variable in profile.network.environment.items():
        path = f"network.environment.{name}"
        if is_reserved(name):
            text = f"`{name}` belongs to the script, torchrun or bash"
            is_own = re.match("MASTER_|RANK$|WORLD_|LOCAL_|NODE_RANK|SLURM_|PBS_", name)
            note(path, text, "leave it out: each rank has it" if is_own else "choose another name")
        if variable.value is None:
            note(path, f"`{name}` has no `value`", "give one; null removes the variable")
