"""Virtual environments without the system's packages, as users install programs.

The environment of a developer may have .pth files, which slow the start of every Python process and
so make all ratios look better.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from turns import ROOT

CACHE = ROOT / ".cache" / "bench"


def environment(folder: Path, packages: Sequence[str]) -> Path:
    """The `bin` of a virtual environment with these packages, which is made if it does not exist.

    Raises CalledProcessError with the messages of pip as its stderr.
    """
    python = folder / "bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    if packages:
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *packages], check=True, capture_output=True, text=True)
    return folder / "bin"


def jobgen(cache: Path = CACHE) -> Path:
    """The `bin` of a new virtual environment with the wheel of this checkout."""
    wheels = cache / "dist"
    shutil.rmtree(wheels, ignore_errors=True)
    build = [sys.executable, "-m", "build", "--quiet", "--wheel", "--no-isolation"]
    subprocess.run(
        [*build, "--outdir", str(wheels), str(ROOT)], check=True, capture_output=True, text=True
    )
    (wheel,) = map(str, wheels.glob("*.whl"))
    shutil.rmtree(cache / "jobgen", ignore_errors=True)
    return environment(cache / "jobgen", ["-c", str(ROOT / "constraints.txt"), wheel])
