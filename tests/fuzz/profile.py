"""A profile's file: a tree, a profile and a script, or problems; with either of YAML's loaders."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from unittest import mock

import atheris

with atheris.instrument_imports(include=["jobgen", "yaml"]):
    import yaml

    from jobgen.errors import JobgenError
    from jobgen.generator import Generator, find_profiles
    from jobgen.planning.job_options import Job
    from jobgen.profiles.kinds import ProblemList
    from jobgen.profiles.model import ROOT as PROFILE
    from jobgen.profiles.records import rows_of
    from jobgen.profiles.yaml_tree import parse
    from jobgen.schedulers import COMMANDS

from tests.fuzz.common import ROOT, fuzz

FILE = Path(tempfile.mkdtemp(), "p.yaml")


def target(data: bytes) -> None:
    with mock.patch.object(yaml, "CSafeLoader", yaml.SafeLoader), suppress(JobgenError):
        PROFILE.read(parse(data, "f"), ProblemList())
    FILE.write_bytes(data)
    with suppress(JobgenError):
        resolved = find_profiles().load(str(FILE))
        command = COMMANDS[resolved.profile.scheduler or "local"]
        Generator().script(Job(command, profile=str(FILE)))


def keys(cls: type) -> set[str]:
    """The keys of a profile's map, and of the maps in it."""
    names = {item.name for item in fields(cls)}
    for _, row in rows_of(cls):
        kind = row.kind
        for inner in (kind, getattr(kind, "value", None), getattr(kind, "item", None)):
            if is_dataclass(getattr(inner, "cls", None)):
                names |= keys(inner.cls)
    return names


if __name__ == "__main__":
    seeds = [*(ROOT / "profiles").rglob("*.yaml"), *(ROOT / "tests/errors").glob("*.yaml")]
    fuzz(target, seeds, [*(f"{key}: " for key in keys(PROFILE.cls)), "&a", "*a", "!!python/name:"])
