"""Virtual environments of their own, without the system's packages, as users install programs.

They have no .pth files of a developer's machine, which would weigh on every process of Python's.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from turns import ROOT

CACHE = ROOT / ".cache" / "bench"


def environment(folder: Path, packages: list[str]) -> Path:
    """The `bin` of a virtual environment that has `packages`, byte-compiled; made where it is not.

    Raises CalledProcessError, with pip's words as its stderr.
    """
    python = folder / "bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    if packages:
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *packages], check=True, capture_output=True, text=True)
    return folder / "bin"


def jobgen(cache: Path = CACHE) -> Path:
    """The `bin` of an environment with this checkout's wheel, made anew."""
    wheels = cache / "dist"
    shutil.rmtree(wheels, ignore_errors=True)
    build = [sys.executable, "-m", "build", "--quiet", "--wheel", "--no-isolation"]
    subprocess.run([*build, "--outdir", str(wheels), str(ROOT)], check=True, capture_output=True)
    (wheel,) = map(str, wheels.glob("*.whl"))
    shutil.rmtree(cache / "jobgen", ignore_errors=True)
    return environment(cache / "jobgen", ["-c", str(ROOT / "constraints.txt"), wheel])
