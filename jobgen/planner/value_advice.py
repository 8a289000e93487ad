"""Warnings about values that the keys of a profile take, and that something else cannot use."""

import re
from collections.abc import Iterator
from operator import attrgetter

from jobgen.errors import Mark, Problem
from jobgen.other_words.search import value_hint
from jobgen.planning.job_options import OPTIONS
from jobgen.profiles.resolve import Resolved
from jobgen.profiles.software_keys import ENGINES

Found = Iterator[tuple[str, str, str, str]]  # path, text, code, hint


def unlikely_values(resolved: Resolved) -> Iterator[Problem]:
    """All these warnings, each at the place where its value was set."""
    rows = (row for row in OPTIONS.values() if row.group == "Cluster" and row.metavar)
    names = [row.path for row in rows if row.path]  # what a cluster has by name
    for path in (*names, "request.mail"):
        value = attrgetter(path)(resolved.profile)
        if value in ("none", "None", "NONE"):
            text, hint = f"`{value}` is taken for a name", "null is the site's default"
            yield Problem(resolved.origins.get(path, Mark(path)), text, "value", hint)
    for path in ("partition", "queue"):
        if (value := str(attrgetter(path)(resolved.profile))).endswith("*"):
            text, hint = "the * is sinfo's mark of the default, and no part of a name", value[:-1]
            yield Problem(resolved.origins[path], text, "value", f"write `{path}: {hint}`")
    for path, text, code, hint in (
        *_container(resolved),
        *_environment(resolved),
        *_network(resolved),
        *_places(resolved),
    ):
        yield Problem(resolved.origins.get(path, Mark(path)), text, code, hint)


def _places(resolved: Resolved) -> Found:
    """Braces in the name of a log, as Snakemake and Hydra have them; or % where nobody reads it."""
    for path in ("request.output", "request.error", "request.log_folder"):
        is_folder = path == "request.log_folder"
        pattern = r"\$?\{\w+\}|\$\([^)]*\)" + "|%[A-Za-z]" * is_folder
        if place := re.search(pattern, attrgetter(path)(resolved.profile) or ""):
            is_slurm = resolved.profile.scheduler == "slurm"
            hint = "%j is the job's id, %x its name" if is_slurm else "leave it out"
            hint = "leave it out: the job's id is the name of a folder in it" if is_folder else hint
            yield path, f"`{place[0]}` stays as it is, and no value takes its place", "value", hint


def _container(resolved: Resolved) -> Found:
    container = resolved.profile.software.container
    if container is None:
        return
    engine = container.engine
    if engine in ("podman", "docker") and str(container.image).endswith(".sif"):
        hint = "`engine: apptainer` (or singularity), or the name of an image in a registry"
        text = f"{engine} runs no .sif, which is a file of Apptainer"
        yield "software.container.image", text, "image", hint
    elif "software.container.engine" not in resolved.origins:
        likely = value_hint("engine of an image", f"image {container.image}")
        others = ", ".join(each for each in ENGINES if each != likely)
        text = f"no `engine` is named, so {engine} runs the image"
        yield "software.container", text, "engine", f"`engine: {likely}`, or {others}"


def _environment(resolved: Resolved) -> Found:
    software = resolved.profile.software
    if folder := re.fullmatch(r"(\S+)/bin(/activate|/python3?|/)?", software.venv or ""):
        text = "the folder that has the environment's bin is meant"
        yield "software.venv", text, "venv", f"`venv: {folder[1]}`"
    if re.fullmatch(r".*\.(ya?ml|txt|lock)", software.conda or ""):
        hint = f"`conda env create -f {software.conda}` once, and then the name that is in it"
        text = f"{software.conda} is a file that makes an environment, and not its name"
        yield "software.conda", text, "conda", hint
    if place := re.search(r"(?<!\$)\{([A-Z_]+)\}", software.venv or ""):
        text = f"`{place[0]}` stays as it is, and no value takes its place"
        yield "software.venv", text, "value", f"write ${place[1]}"
    for module in software.modules:
        if module == "purge":
            hint = "leave it out, and write `commands: [module purge]`"
            yield "software.modules", "`purge` is no name of a module", "value", hint
        if version := re.fullmatch(r"([A-Za-z][\w.+-]*)(?:==?|@|:)v?(\d[\w.]*)", module):
            text, hint = f"`{module}` is no name of a module", f"write {version[1]}/{version[2]}"
            yield "software.modules", text, "value", hint
    for key in ("venv", "conda"):
        if (name := getattr(software, key) or "").lower() == "none":
            yield f"software.{key}", f"`{name}` is taken for a name", "value", "null is none"
    commands = {"venv": r"(?:source|\.) +(.+?)(?:/bin/activate)?", "conda": ".*activate +(.+)"}
    for key, command in commands.items():
        if folder := re.fullmatch(command, getattr(software, key) or ""):
            text = f"`{key}` is a folder or a name, and no command"
            yield f"software.{key}", text, key, f"`{key}: {folder[1]}`"


def _network(resolved: Resolved) -> Found:
    network = resolved.profile.network
    for name in network.interface or ():
        if name.lower() in ("auto", "any", "all", "default", "none"):
            hint = "leave it out: the interface of the host's name is used"
            yield "network.interface", f"no interface has the name {name}", "interface", hint
        if re.fullmatch(r"(mlx[45]|bnxt_re|efa)_\d+", name):
            text = f"{name} is an adapter, and no interface such as ib0 (`ip -br address`)"
            hint = f"`environment: {{NCCL_IB_HCA: {name}}}` names the adapter"
            yield "network.interface", text, "interface", hint
    for name, variable in network.environment.items():
        if name.startswith(("nccl_", "rccl_", "fi_", "ucx_", "omp_")):
            text = f"the name of this variable has capitals, and {name} is another one"
            yield f"network.environment.{name}", text, "value", f"write {name.upper()}"
        value = (variable.value or "").lower()
        if name.startswith("NCCL_") and value in ("true", "yes", "on", "false", "no", "off"):
            number = int(value in ("true", "yes", "on"))
            text = f"NCCL reads a number, and `{value}` is none"
            yield f"network.environment.{name}", text, "value", f"`{name}: {number}`"
