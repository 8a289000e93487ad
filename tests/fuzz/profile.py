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

    from jobgen import store
    from jobgen.errors import JobgenError
    from jobgen.job import Job
    from jobgen.maker import Maker
    from jobgen.profile import ROOT as PROFILE
    from jobgen.schedulers import COMMANDS
    from jobgen.schema import Reading, rows_of
    from jobgen.yamltree import parse

from tests.fuzz.common import ROOT, fuzz

FILE = Path(tempfile.mkdtemp(), "p.yaml")


def target(data: bytes) -> None:
    with mock.patch.object(yaml, "CSafeLoader", yaml.SafeLoader), suppress(JobgenError):
        PROFILE.read(parse(data, "f"), Reading())
    FILE.write_bytes(data)
    with suppress(JobgenError):
        found = store.load(str(FILE))
        command = COMMANDS[found.profile.scheduler or "local"]
        Maker().script(Job(command, profile=str(FILE)))


def keys(cls: type) -> set[str]:
    """The keys of a profile's map, and of those in it."""
    found = {item.name for item in fields(cls)}
    for _, row in rows_of(cls):
        kind = row.kind
        for inner in (kind, getattr(kind, "value", None), getattr(kind, "item", None)):
            if is_dataclass(getattr(inner, "cls", None)):
                found |= keys(inner.cls)
    return found


if __name__ == "__main__":
    seeds = [*(ROOT / "profiles").rglob("*.yaml"), *(ROOT / "tests/errors").glob("*.yaml")]
    fuzz(target, seeds, [*(f"{key}: " for key in keys(PROFILE.cls)), "&a", "*a", "!!python/name:"])
