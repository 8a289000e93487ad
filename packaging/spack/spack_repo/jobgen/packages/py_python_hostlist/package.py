from spack_repo.builtin.build_systems.python import PythonPackage

from spack.package import *


class PyPythonHostlist(PythonPackage):
    """Expands and collects lists of hosts as Slurm writes them."""

    homepage = "https://www.nsc.liu.se/~kent/python-hostlist/"
    url = "https://www.nsc.liu.se/~kent/python-hostlist/python_hostlist-2.3.0.tar.gz"

    license("GPL-2.0-or-later")

    version("2.3.0", sha256="e1a0b18e525a5fca573cb9862799f11b3f2bd3ba7aec70c4ecd8b95341bb71ea")

    depends_on("python@3:", type=("build", "run"))
    depends_on("py-setuptools", type="build")
