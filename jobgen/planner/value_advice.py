"""Warnings about values that the keys of a profile take, and that something else cannot use."""

import re
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from jobgen.errors import Mark
from jobgen.other_words.search import doubts, value_hint
from jobgen.planning.job_options import OPTIONS
from jobgen.profiles.resolve import Resolved
from jobgen.profiles.software_keys import ENGINES
from jobgen.quoting import quote

_NETWORK = "NCCL_|RCCL_|FI_|UCX_|GLOO_"  # null for them keeps the warning of a fabric away
_SHELL = ("software.commands", "software.after_modules", "software.once_per_node")
_GROUPS = ("node", "network", "software", "request", "launch", "limits")
Found = Iterator[tuple[str, str, str, str]]  # path, text, code, hint


def unlikely_values(resolved: Resolved) -> Found:
    """All these warnings."""
    rows = (row for row in OPTIONS.values() if row.group == "Cluster" and row.metavar)
    names = [row.path for row in rows if row.path]  # what a cluster has by name
    for path in (*names, "request.mail"):
        value = attrgetter(path)(resolved.profile)
        if value in ("none", "None", "NONE"):
            yield path, f"`{value}` is taken for a name", "value", "null is the site's default"
    for path, mark in resolved.origins.items():
        for value in _texts(path, resolved):
            for text, hint in _doubts(path, value) or _doubts("any text", value):
                yield path, text, "value", _for_option(hint, path, mark)
    yield from _nothing(resolved)
    yield from _container(resolved)
    yield from _variables(resolved)
    yield from _places(resolved)


def _doubts(table: str, value: str) -> list[tuple[str, str]]:
    """What is wrong with a value by a table of doubts, with a hint; none if it has no such row."""
    text, _, hint = value_hint(table, value, doubts()).partition("; ")
    return [(text, hint)] if text else []


def _for_option(hint: str, path: str, mark: Mark) -> str:
    """A hint with the option in the place of the key, quoted for a shell, if an option is wrong."""
    found = re.fullmatch(r"write (?:`\w+: )?([^`]+)`?", hint)
    if mark.line or not found or path in ("software.modules", "software.container.mounts"):
        return hint
    if mark.file.startswith("--set"):
        return f"write --set {quote(f'{path}={found[1]}')}"
    return f"write {mark} {quote(found[1])}"


def _texts(path: str, resolved: Resolved) -> tuple[str, ...]:
    """The text at a path, or those of a list; none for other values, descriptions and commands."""
    value: Any = resolved.profile
    for name in path.split("."):
        value = getattr(value, name, None)
    if path == "description" or path in _SHELL:
        return ()
    texts = value if type(value) is tuple else (value,)  # a record is a tuple, too
    return tuple(each for each in texts if type(each) is str)


def _nothing(resolved: Resolved) -> Found:
    """What has no value in a file, though there is no base whose value it takes away."""
    for path, mark in resolved.origins.items() if not resolved.profile.extends else ():
        group, _, name = path.rpartition(".")
        if not mark.line:
            continue
        if path in _GROUPS and mark.column == len(path) + 2:  # right behind its colon
            hint = "they stand in the lines below it, indented; or leave it out"
            yield path, f"`{path}` has no keys", "value", hint
        is_absent = name not in resolved.profile.network.environment
        if group == "network.environment" and is_absent and not re.match(_NETWORK, name):
            hint = f"for the value that it has where you submit, write -e {name} for each job"
            yield path, f"`{name}` has no value, and is not set", "value", hint


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
    engine, image = container.engine, str(container.image)
    wrong = _doubts(f"image of {engine}", image)
    yield from (("software.container.image", text, "image", hint) for text, hint in wrong)
    if not wrong and "software.container.engine" not in resolved.origins:
        likely = value_hint("engine of an image", f"image {image}")
        others = ", ".join(each for each in ENGINES if each != likely)
        text = f"no `engine` is named, so {engine} runs the image"
        yield "software.container", text, "engine", f"`engine: {likely}`, or {others}"


def _variables(resolved: Resolved) -> Found:
    for name, variable in resolved.profile.network.environment.items():
        if name.startswith(("nccl_", "rccl_", "fi_", "ucx_", "omp_")):
            text = f"the name of this variable has capitals, and {name} is another one"
            yield f"network.environment.{name}", text, "value", f"write {name.upper()}"
        for text, hint in _doubts("variable", f"{name}={variable.value}"):
            yield f"network.environment.{name}", text, "value", hint
