from pathlib import Path

from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *

CHECKOUT = Path(__file__).resolve().parents[6]  # the clone that this file is in


class Jobgen(PythonPackage):
    """Writes the batch script for a multi-node PyTorch job, for Slurm and PBS clusters."""

    git = CHECKOUT.as_uri()

    license("MIT")

    version("main", branch="main")
    version("1.1.0", tag="v1.1.0")

    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-hatchling@1.26:", type="build")
    depends_on("py-click@8.1:", type=("build", "run"))
    depends_on("py-jinja2@3.1:", type=("build", "run"))
    depends_on("py-python-hostlist@1.21:", type=("build", "run"))
    depends_on("py-pyyaml@6.0:", type=("build", "run"))
