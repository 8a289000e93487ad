"""Every combination of what a job can ask for that changes how its script starts the ranks."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from jobgen.errors import JobgenError
from jobgen.planner.assembly import make_plan
from jobgen.planning.job_options import Job
from jobgen.planning.plan import Plan
from jobgen.profiles.conflicts import conflicts
from jobgen.profiles.keys.software import ENGINES, Container, Workspace
from jobgen.profiles.model import Profile
from jobgen.profiles.resolve import Resolved
from jobgen.schedulers import COMMANDS, profile_conflicts

Values = dict[str, Any]  # of a profile, by their paths; `array` is the option

STARTERS = {
    "slurm": ("srun", "ssh", "mpirun"),
    "pbs": ("pbs_tmrsh", "pbsdsh", "ssh", "mpiexec-openmpi", "mpiexec-mpich", "mpiexec-pals"),
}
IMAGES = tuple(name for name in ENGINES if name != "ce")
WORKSPACE = Workspace("https://example.org/train.git", "0" * 40, "/scratch/train")
COPY = "c" * 32  # the name of the copy of the code
PROGRAMS = ((), ("train.py",), ("./solver",))  # the trainer, a script, a command

# What starts the ranks, where and how many, and what watches them.
STARTS: tuple[tuple[Values, ...], ...] = (
    (
        *(
            {"scheduler": scheduler, "launch.starter": starter}
            for scheduler, starters in STARTERS.items()
            for starter in starters
        ),
        {"scheduler": "local"},
        {"scheduler": "local", "node.gpu": "none"},
    ),
    tuple({"launch.launcher": name} for name in ("torchrun", "srun", "mpiexec", "node")),
    (
        {},
        *({"software.container": Container(name, image="i:1")} for name in IMAGES),
        {"software.container": Container("ce", environment="torch")},
        {"software.venv": "/env", "software.stage": "venv"},
        {"software.stage": "folder", "software.stage_from": "/env"},
        {"software.stage": "squashfs", "software.stage_from": "/env.squashfs"},
    ),
    (
        {"request.nodes": 1},
        {"request.nodes": 2},
        {"request.nodes": 2, "request.spares": 1},
        {"request.nodes": 3, "request.min_nodes": 2},
        {"request.nodes": 65},
    ),
    ({}, {"launch.plain": True}),
    ({}, {"launch.signal": 300}),
    ({}, {"launch.stall": 10}),
    ({}, {"launch.max_restarts": 2}),
    ({}, {"launch.requeue": True}),
)
# What a start may have as well; and what is tried with one program alone, to save time.
DETAILS: tuple[tuple[Values, ...], ...] = (
    ({}, {"software.once_per_node": ("mkdir -p /tmp/cache",)}),
    ({}, {"network.interface": ("ib0",)}),
    ({}, {"node.gpu": "none"}),
    ({}, {"workspace": WORKSPACE}),
    ({}, {"launch.exclude_at_most": 0}),
)
VALUES: tuple[tuple[Values, ...], ...] = (
    ({}, {"array": "0-9"}, {"launch.chain": 5}),
    ({}, {"software.code": "."}, {"software.code": ".", "launch.chain": 5}),
    ({}, {"launch.rendezvous": "static"}),
    ({}, {"node.gpu": "amd"}, {"node.gpu": "intel"}),
    ({}, {"request.log_folder": "/scratch/logs"}),
    ({}, {"launch.cpu_bind": "none"}),
    ({}, {"launch.srun_options": ("--distribution=arbitrary",)}),
    ({}, {"software.aws_ofi_nccl_root": "/opt/aws-ofi-nccl"}),
)


def combinations(all_details: bool) -> Iterator[Plan | None]:
    """The plan of every combination, or None if it is refused.

    The details of a start are tried one after the other; with `all_details`, all together. Those of
    a start that is refused by itself are refused as well, and not counted.
    """
    for start in itertools.product(*STARTS):
        base = merged(start)
        plans = [make(base, program) for program in PROGRAMS]
        yield from plans
        if any(plans):
            for details in itertools.product(*DETAILS) if all_details else one_by_one(DETAILS):
                yield from (make({**base, **merged(details)}, program) for program in PROGRAMS)
            for details in one_by_one(VALUES):
                yield make({**base, **merged(details)}, PROGRAMS[1])


def one_by_one(choices: Iterable[tuple[Values, ...]]) -> Iterator[tuple[Values, ...]]:
    """Each value but the first of each choice, alone."""
    return ((value,) for values in choices for value in values[1:])


def merged(values: Iterable[Values]) -> Values:
    return {name: value for each in values for name, value in each.items()}


def make(values: Values, program: tuple[str, ...]) -> Plan | None:
    """The plan for a program, or None if it is refused."""
    of_profile = tuple((path, value) for path, value in values.items() if path != "array")
    resolved = profile_with(of_profile)
    if not resolved:
        return None
    job = Job(COMMANDS[values["scheduler"]], program=program, array=values.get("array"))
    try:
        return make_plan(job, resolved, code=COPY if resolved.profile.software.code else None)
    except JobgenError:
        return None


@lru_cache(8)
def profile_with(values: tuple[tuple[str, Any], ...]) -> Resolved | None:
    """A profile with whole nodes of four GPUs, and these values; None if one excludes another."""
    rooms: dict[str, Values] = {
        "node": {"cpus": 64, "gpus": 4, "gpu": "nvidia", "arch": "x86_64"},
        "request": {"exclusive": True},
    }
    if ("scheduler", "local") not in values:
        rooms["request"]["time"] = "1:00:00"
    for path, value in values:
        room, _, name = path.rpartition(".")
        rooms.setdefault(room, {})[name] = value
    profile = Profile(**rooms.pop("", {}))
    profile = profile._replace(
        **{room: getattr(profile, room)._replace(**found) for room, found in rooms.items()}
    )
    if conflicts(profile, {}, (profile_conflicts,)):
        return None
    return Resolved("test", profile, "", {})
