"""Any job script, as `jobgen lint` reads it: findings, however broken it is."""

from __future__ import annotations

import atheris

with atheris.instrument_imports(include=["jobgen"]):
    from jobgen.lint.run import problems_in
    from jobgen.lint.settings import Settings

from tests.fuzz.common import ROOT, fuzz
from tests.golden_cases import CASES
from tests.helpers import script

EVERY = Settings(select=("JG",))


def target(data: bytes) -> None:
    problems_in(data.decode("utf-8", "surrogateescape"), "job.sh", EVERY)


if __name__ == "__main__":
    seeds = [path for path in (ROOT / "tests/lint").rglob("*") if path.is_file()]
    words = ["#SBATCH --", "#PBS -l ", "srun ", "torchrun ", "--nnodes=", "${", "$(", "<<EOF"]
    words += ["# jobgen: ignore=JG", "select=2:ncpus=1", "export ", "mpiexec ", "bash -c '"]
    scripts = [script(job) for job in CASES.values()]
    fuzz(target, [*seeds, *scripts[::6]], words)
