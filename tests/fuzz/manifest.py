"""A manifest: scripts or problems."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["jobgen"]):
    from jobgen.errors import JobgenError
    from jobgen.maker import Maker
    from jobgen.manifest import OPTIONS, read

from tests.fuzz.common import ROOT, fuzz

FILE = Path(tempfile.mkdtemp(), "jobgen.yaml")
MAKER = Maker(FILE.parent, confined=True)


def target(data: bytes) -> None:
    FILE.write_bytes(data)
    with suppress(JobgenError):
        _, scripts, _ = read(FILE)
        for _ in range(20):
            with suppress(JobgenError):
                if (script := next(scripts, None)) is None:
                    return
                try:
                    MAKER.plan(script.job(script.command or "sbatch"))
                except JobgenError as error:
                    script.placed(error)


if __name__ == "__main__":
    seeds = sorted((ROOT / "tests/fuzz/manifests").glob("*.yaml"))
    words = [*(f"{key}: " for key in OPTIONS), "defaults: ", "jobs: ", "matrix: ", "{name}", "{{"]
    fuzz(target, seeds, words)
