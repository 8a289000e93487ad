"""The program of a job and its arguments: what the user typed, with the overrides of one job."""

import os
import re
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hydra.errors import CompactHydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from jobgen.errors import JobgenError

_OBJECTIVE = "hydra_plugins.jobgen_launcher.objective.WriteObjective"
# Overrides that say how a sweep runs, and not what one of its jobs does.
_OF_SWEEPS = re.compile(
    r"[+~]*hydra(/(launcher|sweeper)\b|\.(launcher|sweeper|sweep|run|mode|job\.num)\b)"
)


def given_flags() -> Namespace:
    """Hydra's own flags on the command line of this program."""
    from hydra._internal.utils import get_args_parser

    return get_args_parser().parse_known_args(sys.argv[1:])[0]


def options_of(fields: DictConfig) -> dict[str, Any]:
    """The arguments of `jobgen.submit` that the fields of the launcher give.

    Raises CompactHydraException for a value that is not known, or that YAML may have read wrongly.
    """
    own = ("_target_", "wait", "one_array", "at_once", "command")
    read = {str(name): _value(fields, name) for name in fields if name != "command"}
    given = {name: read[name] for name in read if name not in own and read[name] not in (None, {})}
    if isinstance(time := given.get("time"), int):
        text = f"{time} is a number, as which YAML reads 4:00:00, too: write 4h, 90m or '4:00:00'"
        raise CompactHydraException(f"hydra.launcher.time: {text}")
    if not given.get("profile"):
        hint = "one of `jobgen profiles list`, or in $JOBGEN_PROFILE"
        raise CompactHydraException(f"hydra.launcher.profile: no profile is named; {hint}")
    if "set_values" in given:
        given["set_values"] = dict(_paths(given["set_values"]))
    return {**given, "environ": os.environ}


def _value(fields: DictConfig, name: Any) -> Any:
    try:
        value = fields[name]
        if OmegaConf.is_config(value):
            return OmegaConf.to_container(value, resolve=True, throw_on_missing=True)
        return value
    except OmegaConfBaseException as error:
        text = str(error).partition("\n")[0]
        hint = "what only a job has needs a default, such as ${oc.select:hydra.job.num,0}"
        hint = "--cfg all shows more" if given_flags().cfg == "hydra" else hint
        raise CompactHydraException(f"hydra.launcher.{name}: {text}; {hint}") from None


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


def command_to_show(config: DictConfig, options: Mapping[str, Any]) -> str:
    """The command for a script, of which the values of the jobs and their folders are not known."""
    import jobgen
    from jobgen.quoting import quote

    words = [*config.hydra.overrides.task, *_overrides_of_hydra(config)]
    plan = jobgen.plan(program=[*program(), *_flags(), *words], **options)
    return " ".join(map(quote, plan.command))


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


@contextmanager
def errors_of_users() -> Iterator[None]:
    """Show what a person can correct without a traceback."""
    try:
        yield
    except JobgenError as error:
        from jobgen.api.calls import ARGUMENTS

        fields = "|".join(["profile", *ARGUMENTS])
        text = re.sub(rf"(?m)^(?=({fields}):)", "hydra.launcher.", str(error))
        raise CompactHydraException(text) from None
    except KeyboardInterrupt:
        text = "interrupted; jobs in a queue go on: jobgen runs shows them"
        raise CompactHydraException(text) from None
