"""A manifest: scripts or problems."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from itertools import islice
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["jobgen"]):
    from jobgen.errors import JobgenError
    from jobgen.generator import Generator
    from jobgen.repository.manifest import read_manifest
    from jobgen.repository.matrix import KEYS, Script

from tests.fuzz.common import ROOT, fuzz

FILE = Path(tempfile.mkdtemp(), "jobgen.yaml")
GENERATOR = Generator(FILE.parent, confined=True)


def target(data: bytes) -> None:
    FILE.write_bytes(data)
    with suppress(JobgenError):
        _, scripts, _ = read_manifest(FILE)
        for script in islice(scripts, 20):
            if isinstance(script, Script):
                try:
                    GENERATOR.plan(script.job(script.command or "sbatch"))
                except JobgenError as error:
                    script.with_places(error)


if __name__ == "__main__":
    seeds = sorted((ROOT / "tests/fuzz/manifests").glob("*.yaml"))
    words = [*(f"{key}: " for key in KEYS), "defaults: ", "jobs: ", "matrix: ", "{name}", "{{"]
    fuzz(target, seeds, words)
