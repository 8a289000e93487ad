"""Values of a resolved profile that exclude each other, which no single row can see."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from jobgen.errors import Mark, Problem
from jobgen.profiles.model import Profile
from jobgen.profiles.reserved_names import is_reserved
from jobgen.profiles.software_keys import Container
from jobgen.quoting import variable_problem

Note = Callable[[str, str, str], None]  # path, text, hint
Check = Callable[[Profile, Note], None]

OUTSIDE_CONTAINER = ("venv", "conda", "nccl_root", "aws_ofi_nccl_root")


def conflicts(
    profile: Profile, origins: Mapping[str, Mark], more_checks: tuple[Check, ...] = ()
) -> list[Problem]:
    """All conflicts of a profile; `more_checks` are those of the schedulers."""
    found: list[Problem] = []

    def note(path: str, text: str, hint: str) -> None:
        found.append(Problem(origins.get(path, Mark("the profile")), text, "conflict", hint))

    for check in (_software, _stage, _workspace, _request, _plain, _variables, *more_checks):
        check(profile, note)
    return found


def _software(profile: Profile, note: Note) -> None:
    software, container = profile.software, profile.software.container
    if software.venv and software.conda:
        hint = "keep one; null removes the one of a base"
        note("software.venv", "`venv` and `conda` are both set", hint)
    if container is None:
        return
    if container.engine == "ce":
        _environment(container, note)
    else:
        _image(container, note)
    _options(container, note)
    for name in OUTSIDE_CONTAINER:
        if getattr(software, name):
            hint = "ranks run in the container, and do not see it: keep one of the two"
            note(f"software.{name}", f"`{name}` and `container` are both set", hint)
    if container.engine not in ("podman", "docker"):
        _host_devices(container, note)
    if container.engine in ("pyxis", "ce") and profile.scheduler not in ("slurm", None):
        hint = "podman, docker, apptainer or singularity"
        note("software.container.engine", f"{container.engine} is a part of Slurm", hint)
    if container.engine == "pyxis" and profile.launch.launcher in ("srun", "mpiexec"):
        text = (
            "with the launcher srun, Slurm would number the ranks anew in each container of pyxis"
        )
        note("launch.launcher", text, "the launcher torchrun, or another engine")


def _stage(profile: Profile, note: Note) -> None:
    """What can be copied to a node's own disk: one environment, by a job on nodes."""
    software, kind = profile.software, profile.software.stage
    if kind is None:
        if software.stage_from:
            note("software.stage_from", "`stage_from` without `stage`", "stage: folder or squashfs")
        return
    if kind == "venv" and (not software.venv or software.stage_from):
        text = "`stage: venv` copies the folder that `venv` names"
        note("software.stage", text, "set `venv` alone; or `stage: folder` with `stage_from`")
    if kind != "venv" and not software.stage_from:
        note("software.stage", f"`stage: {kind}` has no `stage_from`", "name the environment")
    for name in ("container",) if kind == "venv" else ("container", "venv", "conda"):
        if getattr(software, name):
            text = f"`{name}` and `stage: {kind}` are both set"
            note("software.stage", text, f"the ranks have one Python: remove `stage` or `{name}`")
    if profile.scheduler == "local":
        text = "a local job reads its environment where it is"
        note("software.stage", text, "null removes the value of a base")


def _options(container: Container, note: Note) -> None:
    """An option and its value in one entry would arrive as one word."""
    for option in container.options:
        if found := re.match(r"(-{1,2}[A-Za-z][\w-]*)\s+(.*)", option):
            text = f"{option!r:.60} would be one word"
            hint = f"two entries, {found[1]!r} and {found[2]!r:.40}; or --OPTION=VALUE"
            note("software.container.options", text, hint)


def _image(container: Container, note: Note) -> None:
    """What all engines but ce have: an image, and no environment."""
    if container.environment:
        text = f"`environment` is for the engine ce, and this one is {container.engine}"
        hint = "--set software.container.engine=ce, or an `image` instead"
        note("software.container.environment", text, hint)
    elif not container.image:
        note("software.container", "`software.container` has no `image`", "name one")


def _environment(container: Container, note: Note) -> None:
    """What ce has: an environment, whose file names the image and the mounts."""
    if not container.environment:
        text = "with the engine ce, `software.container` has no `environment`"
        note(
            "software.container",
            text,
            "--set software.container.environment=NAME, as for srun --environment",
        )
    for name in ("image", "mounts"):
        if getattr(container, name):
            text = f"with the engine ce, the file that `environment` names has the {name}"
            note(f"software.container.{name}", text, "write it there; null removes a base's value")


def _host_devices(container: Container, note: Note) -> None:
    """Engines that show the host's devices anyway, and separate mounts by a character."""
    for name in ("devices", "groups", "privileged"):
        if getattr(container, name):
            text = f"{container.engine} has the host's devices, and no `{name}`"
            note(f"software.container.{name}", text, "null removes the value of a base")
    separator = ";" if container.engine == "shifter" else ","
    for mount in container.mounts:
        if separator in mount:
            why = f"which separates mounts for {container.engine}"
            text = f"{mount!r:.80} has a `{separator}`, {why}"
            note("software.container.mounts", text, "another path")


def _workspace(profile: Profile, note: Note) -> None:
    for name in ("url", "commit", "folder"):
        if profile.workspace and getattr(profile.workspace, name) is None:
            note("workspace", f"`workspace` has no `{name}`", "it needs url, commit and folder")


def _request(profile: Profile, note: Note) -> None:
    request = profile.request
    if profile.scheduler == "slurm" and (found := variable_problem(request.chdir or "")):
        note("request.chdir", f"on Slurm, {found[0]}", found[2])
    sizes = [
        path for path in ("memory", "memory_per_cpu", "memory_per_gpu") if getattr(request, path)
    ]
    for path in sizes[1:]:
        text = f"`{sizes[0]}` and `{path}` are both set"
        note(f"request.{path}", text, "keep one; null removes the one of a base")
    if request.hint and request.threads_per_core:
        text = "Slurm takes only one of `hint` and `threads_per_core`"
        note("request.threads_per_core", text, "keep one; null removes the one of a base")
    if request.min_nodes and request.min_nodes > request.nodes:
        text = f"at least {request.min_nodes} of {request.nodes} nodes"
        note("request.min_nodes", text, "-N MIN:MAX, the smaller number first")


def _plain(profile: Profile, note: Note) -> None:
    """What the plain script cannot do, since it has no machinery."""
    request, launch = profile.request, profile.launch
    if not launch.plain:
        return
    reasons = {
        "launch.requeue": (
            launch.requeue,
            "the plain script cannot put the job back into the queue",
        ),
        "launch.stall": (launch.stall, "the plain script does not watch the ranks"),
        "software.stage": (profile.software.stage, "the plain script copies nothing"),
        "request.log_folder": (request.log_folder, "the plain script keeps no logs"),
        "launch.signal": (launch.signal, "the plain script passes no signal to the ranks"),
        "launch.max_restarts": (launch.max_restarts, "the plain script starts nothing again"),
        "request.min_nodes": (
            request.min_nodes and request.min_nodes < request.nodes,
            "the plain script fails when a node is lost",
        ),
        "request.spares": (request.spares, "the plain script checks no node, so it chooses none"),
        "launch.starter": (
            launch.starter == "pbsdsh",
            "pbsdsh always exits with 0, so the plain script cannot detect a failure",
        ),
    }
    if profile.software.once_per_node and launch.launcher == "srun":
        text = f"the plain script starts the ranks of {launch.launcher} all at once"
        note(
            "software.once_per_node",
            text,
            "remove --plain (launch.plain), or the launcher torchrun",
        )
    for path, (is_set, text) in reasons.items():
        if is_set:
            note(path, text, f"remove --plain (launch.plain), or {path}")


def _variables(profile: Profile, note: Note) -> None:
    for name, variable in profile.network.environment.items():
        path = f"network.environment.{name}"
        if is_reserved(name):
            text = f"`{name}` belongs to the script, torchrun or bash"
            note(path, text, "choose another name")
        if variable.value is None:
            note(path, f"`{name}` has no `value`", "give one; null removes the variable")
