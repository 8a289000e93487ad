"""The program of a job and its arguments: what the user typed, with the overrides of one job."""

import os
import re
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra.errors import CompactHydraException
from omegaconf import DictConfig, OmegaConf

_OBJECTIVE = "hydra_plugins.jobgen_launcher.objective.WriteObjective"
# Overrides that say how a sweep runs, and not what one of its jobs does.
_OF_SWEEPS = re.compile(
    r"[+~]*hydra(/(launcher|sweeper)\b|\.(launcher|sweeper|sweep|run|mode|job\.num)\b)"
)


def given_flags() -> Namespace:
    """Hydra's own flags on the command line of this program."""
    from hydra._internal.utils import get_args_parser

    return get_args_parser().parse_known_args(sys.argv[1:])[0]


def options_of(fields: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The profile and the arguments of `jobgen.submit` that the fields of the launcher give.

    Raises CompactHydraException for a time that YAML may have read wrongly.
    """
    plain: Any = OmegaConf.to_container(OmegaConf.create(dict(fields)), resolve=True)
    given = {name: value for name, value in plain.items() if value not in (None, {})}
    if isinstance(time := given.get("time"), int):
        text = f"{time} is a number, as which YAML reads 4:00:00, too: write 4h, 90m or '4:00:00'"
        raise CompactHydraException(f"hydra.launcher.time: {text}")
    own = ("_target_", "profile", "wait", "one_array", "at_once", "command")
    options = {name: value for name, value in given.items() if name not in own}
    if "set_values" in options:
        options["set_values"] = dict(_paths(options["set_values"]))
    return given.get("profile", ""), {**options, "environ": os.environ}


def _paths(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """The values of maps in maps, each with its path."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _paths(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def program() -> list[str]:
    """This program, as words of a job."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    if spec is not None:
        return ["-m", spec.name.removesuffix(".__main__")]
    path = Path(sys.argv[0]).absolute()
    inside = path.is_relative_to(Path.cwd())
    return [str(path.relative_to(Path.cwd()) if inside else path)]


def words_of_job(
    config: DictConfig, overrides: Sequence[str], folder: Path, number: int, returns: bool
) -> list[str]:
    """The program of one job and its arguments; with `returns`, it writes its objective."""
    own = {"hydra.run.dir": quoted(str(folder)), "hydra.job.num": str(number)}
    own["hydra.mode"] = "RUN"
    if returns:
        own["++hydra.callbacks.jobgen._target_"] = _OBJECTIVE
    words = [*overrides, *_overrides_of_hydra(config), *(f"{k}={v}" for k, v in own.items())]
    return [*program(), *_flags(), *words]


def words_to_show(config: DictConfig) -> list[str]:
    """The same, of which the values of the jobs and their folders are not known yet."""
    return [*program(), *_flags(), *config.hydra.overrides.task, *_overrides_of_hydra(config)]


def _flags() -> list[str]:
    given = vars(given_flags())
    names = ("config_path", "config_name", "config_dir")
    return [f"--{name.replace('_', '-')}={given[name]}" for name in names if given[name]]


def _overrides_of_hydra(config: DictConfig) -> list[str]:
    return [each for each in config.hydra.overrides.hydra if not _OF_SWEEPS.match(each)]


def quoted(text: str) -> str:
    """A value of an override: a folder's name may have = and commas."""
    if re.fullmatch(r"[\w./-]+", text, re.ASCII):
        return text
    escaped = re.sub(r"(\\*)'", r"\1\1\\'", text)
    escaped = re.sub(r"(\\+)$", r"\1\1", escaped)
    return f"'{escaped}'"
