"""Software on a login node: modules and environments with PyTorch, and container engines."""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from jobgen.detection.commands import Answer

# Commands to look for on PATH; jobgen cannot use enroot alone as an engine.
ENGINES = ("podman", "docker", "apptainer", "singularity", "shifter")
SRUN_OPTIONS = {"pyxis": "container-image", "ce": "environment"}  # which srun's plug-ins add
MODULES_SHOWN = 12
MOST_ENVIRONMENTS = 50
# Below the home folder: where conda, mamba and micromamba are installed, and `conda create` writes.
_HOMES = ("miniforge3", "miniconda3", "anaconda3", "mambaforge", "micromamba", ".conda")
_TORCH_VERSION = "lib/python3*/site-packages/torch/version.py"
_TORCH = re.compile(r"torch", re.IGNORECASE)
_PYTHON = re.compile(
    r"conda|mamba|miniforge|frameworks|deep-?learning|machine-?learning", re.IGNORECASE
)


def commands() -> dict[str, tuple[str, ...]]:
    """The commands that list the modules of a login shell, and srun's options, also of plug-ins."""
    return {
        # Lmod and Environment Modules print the list on stderr.
        "modules": ("bash", "-lc", "module -t avail 2>&1"),
        "srun": ("srun", "--help"),
    }


def parse_modules(text: str) -> tuple[str, ...]:
    """The names in `module -t avail` with torch; else those with conda or a similar word."""
    names = []
    for line in text.splitlines():
        name = re.sub(r"\((?:default|[A-Z@]+)\)|<[^>]*>", "", line).strip()
        if re.fullmatch(r"[A-Za-z0-9_][\w.+/-]*[\w+]", name, re.ASCII):
            names.append(name)
    for pattern in (_TORCH, _PYTHON):
        if found := [name for name in dict.fromkeys(names) if pattern.search(name)]:
            return tuple(found)
    return ()


def parse_engines(srun_help: str) -> tuple[str, ...]:
    """The values of `software.container.engine` that srun's plug-ins make possible."""
    found = SRUN_OPTIONS.items()
    return tuple(name for name, option in found if re.search(rf"(?m)^\s*--{option}=", srun_help))


def module_notes(answer: Answer) -> list[str]:
    """The lines of a comment that says which modules have PyTorch."""
    modules = parse_modules(answer.text)
    if modules:
        shown = [f"  {name}" for name in modules[:MODULES_SHOWN]]
        rest = [f"  and {len(modules) - MODULES_SHOWN} more"] * (len(modules) > MODULES_SHOWN)
        return ["Modules that offer PyTorch, or a conda, by their names:", *shown, *rest]
    if "command not found" in answer.text:
        return ["This login node has no command `module`."]
    if answer.status is None:
        return [f"Not known: modules with PyTorch; `module -t avail` {answer.failure}."]
    return ["No module has torch or conda in its name; all of them: module avail"]


def environment_folders(variables: Mapping[str, str]) -> tuple[str, ...]:
    """The user's virtual and conda environments with torch, the active one first.

    Nothing is run or imported: an environment has torch if it has torch's version.py.
    """
    found = dict.fromkeys(os.path.abspath(each) for each in _environments(variables))
    with_torch = [each for each in found if any(Path(each).glob(_TORCH_VERSION))]
    return tuple(each for each in with_torch if each.isprintable())[:MOST_ENVIRONMENTS]


def _environments(variables: Mapping[str, str]) -> Iterator[Path]:
    """The folders that may be virtual or conda environments."""
    home = Path(variables.get("HOME", "/"))
    if python := shutil.which("python3", path=variables.get("PATH")):
        own = Path(python).parents[1]
        if (own / "pyvenv.cfg").exists() or (own / "conda-meta").exists():
            yield own
    active = (variables.get(name) for name in ("VIRTUAL_ENV", "CONDA_PREFIX"))
    yield from (Path(each) for each in active if each)
    yield from (Path(".venv"), Path("venv"))
    bases = [home / name for name in _HOMES]
    if conda := variables.get("CONDA_EXE"):
        bases.insert(0, Path(conda).parents[1])
    for base in bases:
        yield from (base, *sorted(base.glob("envs/*")))
    with suppress(OSError, UnicodeDecodeError):  # the list of environments that conda keeps
        yield from map(Path, (home / ".conda/environments.txt").read_text().split("\n"))
