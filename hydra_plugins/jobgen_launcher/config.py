"""The fields of `hydra.launcher`: the arguments of `jobgen.submit`, from the same table."""

from dataclasses import field, make_dataclass
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.errors import CompactHydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from hydra_plugins.jobgen_launcher import command_line
from jobgen.api.values import argument_type
from jobgen.planning.job_options import OPTIONS

# An array of jobs is made of a sweep's jobs, and the hosts are the scheduler's.
_OTHERS = {"profile", "hosts", "array"}
_TYPES: dict[str, Any] = {
    "str": str | None,
    "PathName": str | None,
    "bool": bool | None,
    "int | str": int | str | None,
    "Values": Any,
    "Words": Any,  # a text, or a list of texts
}
# The fields that are of the launcher alone.
OWN_FIELDS = {
    "command": (str, "${jobgen_command:}"),  # that of a job, for --cfg
    "wait": (bool, False),  # until the jobs have ended, and return their objectives
    "one_array": (bool, False),  # submit the jobs of a batch as one array
    "at_once": (int | None, None),  # how many jobs of this array run at once
}

_ARGUMENTS = {name: argument_type(row) for name, row in OPTIONS.items() if name not in _OTHERS}

_TARGET = "hydra_plugins.jobgen_launcher.launcher.JobgenLauncher"
JobgenConf = make_dataclass(
    "JobgenConf",
    [
        ("_target_", str, field(default=_TARGET)),
        *((name, kind, field(default=default)) for name, (kind, default) in OWN_FIELDS.items()),
        ("profile", str | None, field(default="${oc.env:JOBGEN_PROFILE,null}")),
        *((name, _TYPES[kind], field(default=None)) for name, kind in _ARGUMENTS.items()),
    ],
)


def _command(*, _parent_: DictConfig, _root_: DictConfig) -> str:
    """The command that makes the script of a job, if the program only shows its config.

    To start the launcher, Hydra reads this before the other fields: here, a mistake in one of them
    is a message, and later a traceback. OmegaConf makes one of each error, but not of SystemExit.
    """
    shows = command_line.given_flags().cfg is not None
    if not shows and _root_.hydra.mode != RunMode.MULTIRUN:
        return ""
    try:
        with command_line.errors_of_users():
            options = command_line.options_of(_parent_)
            return command_line.command_to_show(_root_, options) if shows else ""
    except CompactHydraException as error:
        raise SystemExit(str(error)) from None


OmegaConf.register_new_resolver("jobgen_command", _command, replace=True)
_NODE = OmegaConf.structured(JobgenConf)
for _name in (name for name, kind in _ARGUMENTS.items() if kind == "Values"):
    _NODE[_name] = {}
    OmegaConf.set_struct(_NODE[_name], False)  # else Hydra wants a + before each new key
ConfigStore.instance().store(group="hydra/launcher", name="jobgen", node=_NODE, provider="jobgen")
