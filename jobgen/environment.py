"""The variables that the ranks get: jobgen's own, then the profile's, then the user's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from jobgen.errors import problem
from jobgen.profile import VARIABLE, Profile, reserved
from jobgen.program import LONGEST_WORDS, length

# The scheduler's choice of GPUs; on AMD only the lowest layer's list, see `setup` in base.sh.j2.
VISIBLE = {
    "nvidia": ("CUDA_VISIBLE_DEVICES",),
    "amd": ("ROCR_VISIBLE_DEVICES",),
    "none": ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
}
_RANK = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")


class Setting(NamedTuple):
    """An environment variable with its final value and the reason for it."""

    name: str
    value: str
    why: str = ""


def settings(
    profile: Profile, nodes: int, processes: int, threads: int | None
) -> tuple[Setting, ...]:
    """What jobgen and the profile export.

    `processes` are a node's ranks, `threads` the cores of one, where they are known.
    """
    return _merged(_own(profile, nodes, processes, threads), _fabric(profile, nodes))


def with_users(said: tuple[Setting, ...], texts: tuple[str, ...]) -> tuple[Setting, ...]:
    """`said` and the NAME=VALUE texts of -e: each variable once.

    Raises JobgenError for one of the user's that no script could set.
    """
    return _merged(said, _user(texts)) if texts else said


def _merged(*parts: Iterable[Setting]) -> tuple[Setting, ...]:
    said: dict[str, Setting] = {}
    for setting in chain(*parts):
        said.pop(setting.name, None)  # a later one stands where it was said
        said[setting.name] = setting
    if (size := sum(map(_size, said.values()))) > LONGEST_WORDS:
        hint = f"at most {LONGEST_WORDS}: put the rest into a file"
        raise problem("-e", f"all variables together have {size} bytes", "limit", hint)
    return tuple(said.values())


def _size(setting: Setting) -> int:
    """The bytes of its line in a script."""
    return len(f"  export {setting.name}=\n") + length(setting.value)


def found_sockets(profile: Profile, nodes: int, said: tuple[Setting, ...]) -> tuple[Setting, ...]:
    """What names the interface that a node finds, `value` before it; not what is said already."""
    if nodes == 1 or profile.network.interface:
        return ()
    names = {setting.name for setting in said}
    wanted = (Setting("GLOO_SOCKET_IFNAME", ""), Setting("NCCL_SOCKET_IFNAME", "="))
    return tuple(setting for setting in wanted if setting.name not in names)


def passed(
    profile: Profile, said: tuple[Setting, ...], workspace: bool, schedulers: tuple[str, ...]
) -> tuple[str, ...]:
    """Names of what a container is given, if there is one; it sees nothing else of the host's.

    `said` is what the script sets; so is what the programs of a `workspace` need. `schedulers` is
    what the scheduler sets.

    But for pyxis: it passes all on, and needs to know what goes before the image's own.
    """
    if profile.software.container is None:
        return ()
    engine = profile.software.container.engine
    found = ("JOBGEN_WORKSPACE", "PYTHONPATH") if workspace else ()
    known = (*(setting.name for setting in said), *found)
    if engine == "pyxis":
        return tuple(dict.fromkeys(known))
    rank = _RANK if profile.launch.launcher == "srun" else ()
    mark = ("JOBGEN_MARK",) if engine == "apptainer" else ()
    names = (*known, *schedulers, *rank, *VISIBLE[profile.node.gpu], *mark)
    return tuple(dict.fromkeys(names))


def _own(profile: Profile, nodes: int, processes: int, threads: int | None) -> Iterator[Setting]:
    yield Setting("PYTHONUNBUFFERED", "1", "What a rank prints appears at once.")
    if threads:
        yield Setting(
            "OMP_NUM_THREADS",
            str(threads),
            "Cores of one rank; else 1, or all of the node's under PBS.",
        )
    elif processes > 1:
        why = "The profile says no node.cpus to share out; each rank would else use all cores."
        yield Setting("OMP_NUM_THREADS", "1", why)
    if nodes == 1:
        why = "One node: gloo stays on loopback, whatever the hostname resolves to."
        yield Setting("GLOO_SOCKET_IFNAME", "lo", why)
    elif names := profile.network.interface:
        why = "gloo would else use the interface that the hostname resolves to."
        yield Setting("GLOO_SOCKET_IFNAME", names[0], why)
        why = "NCCL's first contact; the = means exactly this name, not all that begin with it."
        yield Setting("NCCL_SOCKET_IFNAME", "=" + ",".join(names), why)
    container = profile.software.container
    if container and container.engine == "pyxis" and profile.node.gpu == "none":
        yield Setting("NVIDIA_VISIBLE_DEVICES", "void", "Else enroot's hook looks for a driver.")
    if profile.launch.max_restarts or profile.request.fewest(nodes) < nodes:
        why = "Restarted ranks would else read the dead ones' addresses, and fail again."
        yield Setting("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1", why)


def _fabric(profile: Profile, nodes: int) -> Iterator[Setting]:
    for name, variable in profile.network.environment.items():
        if nodes > 1 or variable.nodes == "any":
            yield Setting(name, variable.value or "", variable.why)


def _user(texts: tuple[str, ...]) -> Iterator[Setting]:
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            hint = "such as NCCL_DEBUG=INFO"
            raise problem("-e", f"{text!r:.80} is not NAME=VALUE", "usage", hint)
        if not re.fullmatch(VARIABLE.pattern, name):
            raise problem("-e", f"{name!r:.80} is no variable's name", "value", VARIABLE.rule)
        if reserved(name):
            text = f"{name} is the script's, torchrun's or bash's own"
            raise problem("-e", text, "value", "choose another name")
        if "\0" in value:
            raise problem(
                "-e", f"a NUL character in {name}", "value", "no program can be given one"
            )
        yield Setting(name, value)
