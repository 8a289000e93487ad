"""What is possible, and probably not meant: warnings about a profile and about a job."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from jobgen.errors import Mark, Problem
from jobgen.planner.containers import PASS_ALL
from jobgen.planning.job_options import Job
from jobgen.planning.plan import Plan
from jobgen.profiles.model import Profile
from jobgen.profiles.resolve import Resolved

# A word of a variable's name that is the name of a secret; TOKENIZERS_… and MAX_TOKENS are not.
_SECRET = re.compile(
    r"(?:^|_)(?:API|ACCESS|AUTH|SSH|HF)?(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE)(?:_|$)",
    re.IGNORECASE,
)
# Libraries of the network and of the GPUs have no secrets. (Compiled when it is needed.)
_OTHER_NAMES = (
    r"(?i)(?:NCCL|RCCL|FI|UCX|GLOO|OMP|OMPI|CUDA|HIP|TORCH|SLURM|PALS|CCL|MPICH)_.*"
    r"|.*_(?:FILE|FILES|PATH|PATHS|DIR|FOLDER|LENGTH|LEN|SIZE|COUNT|LIMIT|TYPE)"
)
# A number, a truth value, a path, or variables of the node alone.
_OTHER_VALUES = (
    r"(?is)|[0-9.]{1,9}|true|false|yes|no|none|on|off|auto|[/~].*|(?:\$\{?[A-Za-z_]\w*\}?)(?:/.*)?"
)
# The base for the interfaces with these names, and the variables of which one shows that it, or
# another set-up, is there.
_FABRICS = {
    "hsn": ("fabrics/slingshot", ("FI_", "NCCL_NET", "RCCL_")),
    "ib": ("fabrics/infiniband", ("NCCL_IB_", "NCCL_NET", "RCCL_")),
}


def is_secret(name: str, value: str) -> bool:
    """Whether a variable looks as if its value were a secret."""
    names = _SECRET.search(name) and not re.fullmatch(_OTHER_NAMES, name)
    return bool(names) and not re.fullmatch(_OTHER_VALUES, value)


def profile_advice(resolved: Resolved) -> list[Problem]:
    """Warnings about a profile alone."""
    found = [*_fabric(resolved.profile, resolved.origins), *_lost_exports(resolved)]
    found += _gpus_not_requested(resolved)
    for name, variable in resolved.profile.network.environment.items():
        if is_secret(name, variable.value or ""):
            found.append(_secret(resolved.origins.get(f"network.environment.{name}"), name))
    return found


def _lost_exports(resolved: Resolved) -> Iterator[Problem]:
    """What shell lines export and the ranks do not get."""
    software, launcher = resolved.profile.software, resolved.profile.launch.launcher
    container = software.container
    if container and container.engine not in PASS_ALL:
        for key in ("commands", "after_modules", "once_per_node"):
            path = f"software.{key}"
            if any(re.match(r"\s*(source|\.|eval)\s", line) for line in getattr(software, key)):
                text = f"what these lines source does not reach the container of {container.engine}"
                hint = "name each variable that it needs: -e NAME, or `export NAME` in a line"
                yield Problem(resolved.origins.get(path, Mark(path)), text, "export", hint)
    if launcher in ("srun", "mpiexec") and re.search(
        r"\bexport\s", "\n".join(software.once_per_node)
    ):
        path = "software.once_per_node"
        text = f"what it exports does not reach the ranks, which {launcher} starts"
        hint = "export it in software.after_modules"
        yield Problem(resolved.origins.get(path, Mark(path)), text, "export", hint)


def job_advice(job: Job, plan: Plan, resolved: Resolved) -> list[Problem]:
    """Warnings about a job: what would stand in its script, and its network."""
    from_user = {text.partition("=")[0] for text in job.environment}
    names = {f"network.environment.{name}" for name in from_user}
    several = plan.request.nodes > 1
    found = list(_fabric(resolved.profile, resolved.origins, names)) if several else []
    found += _lost_exports(resolved)
    if plan.request.gpus_per_node and job.command != "byhand":
        found += _gpus_not_requested(resolved)
    for name, value, _ in plan.software.environment:
        if value is not None and is_secret(name, value):
            origin = resolved.origins.get(f"network.environment.{name}")
            found.append(_secret(Mark("-e") if name in from_user else origin, name))
    return found


def _gpus_not_requested(resolved: Resolved) -> Iterator[Problem]:
    """GPUs of a node for which the profile has no option of PBS: the ranks may see none."""
    request, gpus = resolved.profile.request, resolved.profile.node.gpus
    if resolved.profile.scheduler != "pbs" or not gpus or request.gpu_option:
        return
    if "gpu" not in f"{request.chunk} {request.constraint} {request.directives}".lower():
        text = f"a node has {gpus} GPUs, and PBS is asked for none"
        hint = "`request.gpu_option: ngpus`, or `none` if the queue gives them"
        yield Problem(resolved.origins.get("node.gpus", Mark("the profile")), text, "gpus", hint)


def _secret(mark: Mark | None, name: str) -> Problem:
    text = f"the value of {name} would stand in a script, which is committed and shown to others"
    hint = f"export {name} where you submit, and use -e {name} without the value"
    return Problem(mark or Mark("the profile"), text, "secret", hint)


def _fabric(
    profile: Profile, origins: Mapping[str, Mark], more_paths: Iterable[str] = ()
) -> Iterator[Problem]:
    """The base that GPUs need for a fast network, if neither it nor a variable of it is set."""
    path = "network.interface"
    if profile.scheduler in (None, "local") or profile.node.gpu not in ("nvidia", "amd"):
        return
    for kind, (base, variables) in _FABRICS.items():
        names = [name for name in profile.network.interface or () if name.startswith(kind)]
        prefixes = tuple(f"network.environment.{name}" for name in variables)
        if names and not any(each.startswith(prefixes) for each in (*origins, *more_paths)):
            text = f"`{names[0]}`, and none of the variables that NCCL needs on this network"
            hint = f"`extends: {base}`; to silence this, `network.environment: {{NCCL_NET: null}}`"
            yield Problem(origins.get(path, Mark("the profile")), text, "fabric", hint)
