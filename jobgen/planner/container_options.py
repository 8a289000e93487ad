"""Plans and checks the container of a job: the devices for GPUs, the image, the variables."""

import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress

from jobgen.errors import problem
from jobgen.planning.plan import DUMP_FILES, Plan, Request, Software
from jobgen.profiles.keys.software import ENGINES, Container, Engine
from jobgen.profiles.records import extend
from jobgen.profiles.resolve import Resolved

# The variables that select the GPUs a process sees. For AMD only the variable of the lowest layer:
# each layer above it selects from the GPUs that the layer below has left.
VISIBLE_GPUS = {
    "nvidia": ("CUDA_VISIBLE_DEVICES",),
    "amd": ("ROCR_VISIBLE_DEVICES",),
    "intel": ("ZE_AFFINITY_MASK",),
    "none": ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ONEAPI_DEVICE_SELECTOR"),
}
# Variables: the label of a rank's output lines, and the mark by which a keeper finds its ranks.
LABEL, KEEPER = "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", "JOBGEN_KEEPER"


def exported_names(lines: Iterable[str]) -> Iterator[str]:
    """Yields the names of the variables that the profile's shell lines export.

    The names that a sourced file exports are unknown.
    """
    for line in lines:
        words = shlex.shlex(line, posix=True, punctuation_chars=";&|()")
        words.whitespace_split = True
        is_exported = False
        with suppress(ValueError):  # a quotation mark is not closed in this line
            for word in words:
                if word == "export" or not word.strip(";&|()"):
                    is_exported = word == "export"
                elif is_exported and (found := re.match(r"[A-Za-z_]\w*(?==|$)", word, re.ASCII)):
                    yield found[0]


# Devices of a vendor's GPUs. NVIDIA's CDI names all GPUs nvidia.com/gpu=all.
_DEVICES = {
    "amd": ("/dev/kfd", "/dev/dri"),
    "intel": ("/dev/dri",),
    "nvidia": ("nvidia.com/gpu=all",),
}


def with_container(
    plan: Plan, container: Container, scheduler_variables: tuple[str, ...], by_hand: bool
) -> Plan:
    """Returns the plan with its container; adds devices for GPUs if the profile sets none."""
    own = {
        "$workspace": plan.software.workspace is not None,
        "$logs": plan.request.log_folder is not None,
        "$rank_files": plan.local_files,
    }
    mounts = tuple(map(_mount, container.mounts))
    if not ENGINES[container.engine].mounted_by_site:
        mounts += tuple(f"{folder}:{folder}" for folder, is_used in own.items() if is_used)
    vendor = plan.node.gpu if plan.request.gpus_per_node else "none"
    devices, groups, gpu_mounts, gpu_options = _gpu_needs(container.engine, vendor)
    given = {option.partition("=")[0] for option in container.options}
    gpu_options = tuple(each for each in gpu_options if each.partition("=")[0] not in given)
    planned = container._replace(
        image=_image(container.engine, container.image or ""),
        mounts=(*mounts, *gpu_mounts),
        devices=devices if container.devices is None else container.devices,
        groups=groups if container.groups is None else container.groups,
        options=(*gpu_options, *container.options),
    )
    passed = _passed_variables(plan, ENGINES[container.engine], scheduler_variables, by_hand)
    return plan._replace(software=extend(Software, plan.software, container=planned, passed=passed))


def _gpu_needs(engine: str, vendor: str) -> tuple[tuple[str, ...], ...]:
    """Returns the devices, groups, mounts and options that a vendor's GPUs need in a container.

    ROCm needs its devices and the group that owns them: in a rootless container of podman,
    keep-groups keeps the user's groups (podman-run(1)); Docker is given the group of the device.
    With pyxis, enroot's hook adds NVIDIA's; with shifter and ce, the site's modules and hooks do.
    """
    devices = _DEVICES.get(vendor, ())
    match engine, vendor:
        case "docker", "nvidia":
            return (), (), (), ("--gpus=all",)
        case "podman", "amd" | "intel":
            return devices, ("keep-groups",), (), ()
        case "podman" | "docker", _:
            return devices, (), (), ()
        case "apptainer" | "singularity", "amd" | "nvidia":
            return (), (), (), ("--rocm" if vendor == "amd" else "--nv",)
        case "pyxis", "amd" | "intel":
            return (), (), tuple(f"{device}:{device}" for device in devices), ()
    return (), (), (), ()


def _mount(text: str) -> str:
    """Returns a mount as HOST:/INSIDE; a single path is used on both sides."""
    if ":" in text:
        return text
    path = f"$HOME{text[1:]}" if text == "~" or text.startswith("~/") else text
    return f"{path}:{path}"


def _image(engine: str, name: str) -> str:
    """Returns an image's name in the engine's own spelling; the path of a file is not changed."""
    if engine == "shifter":  # TYPE:NAME; udiRoot's types other than docker are the site's own
        return name if re.match(r"(docker|id|custom|local):", name) else f"docker:{name}"
    if re.match(r"[./$~]", name) or "://" in name:
        return name
    if engine in ("apptainer", "singularity"):
        return name if name.endswith(".sif") else f"docker://{name}"
    if engine != "pyxis":
        return name
    registry, slash, rest = name.partition("/")
    host = r"localhost|[\w-]+(\.[\w-]+)+|[\w-]+(?=:)"
    if name.endswith(".sqsh") or not slash or not re.fullmatch(rf"({host})(:\d+)?", registry):
        return name
    # enroot's default registry is docker.io
    return rest if registry == "docker.io" else f"{registry}#{rest}"


def _passed_variables(
    plan: Plan, engine: Engine, scheduler_variables: tuple[str, ...], by_hand: bool
) -> tuple[str, ...]:
    """Returns the names of the variables that the engine passes from the host to the container.

    pyxis, shifter and ce pass all variables; the names are those that replace the image's own.
    With shifter and ce, the values stand in a command line: a variable that the user exports
    before the job is submitted, such as a token, is left out.
    """
    software = plan.software
    variables = (*software.environment, *plan.network.socket_variables)
    if engine.values_in_words:
        variables = tuple(each for each in variables if each.value is not None)
    # By hand, `env` in the container sets each variable that has a value.
    names = [each.name for each in variables if not by_hand or each.value is None]
    names += exported_names((*software.commands, *software.after_modules))
    names += ["PYTHONPATH", "PYTHONDONTWRITEBYTECODE"] * (software.workspace is not None)
    names += [LABEL] * plan.observed
    names += DUMP_FILES * plan.dumps
    names += ["JOBGEN_PROGRESS"] * (plan.launch.chain is not None)
    names += ["NCCL_RAS_ADDR"] * plan.asks_nccl
    names += [KEEPER] * bool(plan.launch.signal or plan.launch.stall)
    if not engine.passes_all:
        names += [*scheduler_variables, *VISIBLE_GPUS[plan.node.gpu]]
    return tuple(dict.fromkeys(names))


def check_gpus_of_container(resolved: Resolved, request: Request) -> None:
    """Raise JobgenError for a container that would use the GPUs of other jobs on the node.

    Docker's and podman's containers are not in the job's cgroup, and see all GPUs of a node. Slurm
    numbers a job's GPUs from 0 (gres_use_local_device_index), so two jobs would use the same ones.
    """
    profile = resolved.profile
    container, node = profile.software.container, profile.node
    has_some = node.gpu != "none" and 0 < request.gpus_per_node < node.gpus
    shared = has_some and not request.whole_nodes
    if shared and container and ENGINES[container.engine].takes_devices:
        text = f"with {container.engine}, jobs on a shared node would use each other's GPUs"
        hint = "--exclusive, or the engine apptainer, singularity or pyxis"
        raise resolved.conflict("software.container.engine", text, hint)


def check_container_values(plan: Plan, resolved: Resolved, by_hand: bool) -> None:
    """Raise JobgenError for values that cannot be passed into a container.

    By hand, `env` sets the variables inside the container, so no name is refused. The engine gets
    the words of a container as JSON (OCI's runtime-spec), which allows only Unicode.
    """
    environment, container = plan.software.environment, resolved.profile.software.container
    words = (plan.program.name, *plan.program.arguments)
    values = (*words, *(variable.value or "" for variable in environment))
    if wrong := next((value for value in values if re.search("[\ud800-\udfff]", value)), None):
        hint = "containers get only UTF-8: put it into a file"
        place = "--" if wrong in words else "-e"
        raise problem(place, f"{wrong!a:.80} is not UTF-8 text", "value", hint)
    engine = container.engine if container else ""
    if by_hand or engine not in ("apptainer", "singularity"):
        return
    # Both engines set these variables themselves, or read them as a part of PATH (in both,
    # internal/pkg/util/env/clean.go, `SetContainerEnv`).
    own_names = {"APPEND_PATH", "HOME", "PREPEND_PATH"}
    own_names |= {f"{engine.upper()}_APPNAME", f"{engine.upper()}_SHELL"}
    if names := [variable.name for variable in environment if variable.name in own_names]:
        in_profile = names[0] in resolved.profile.network.environment
        place = resolved.origin(f"network.environment.{names[0]}") if in_profile else "-e"
        text = f"{engine} does not pass {names[0]} on as it is"
        raise problem(place, text, "conflict", f"another name, or an option of {engine}")
