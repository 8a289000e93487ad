"""The functions of the API. `Options` has a key for each field of `Job`, with the same meaning."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from inspect import Parameter, Signature
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypedDict

from jobgen.api.keywords import errors_name_arguments, with_arguments
from jobgen.api.values import given_profile, job_fields, path_text, variables
from jobgen.errors import JobgenError, Problem, excess_text, nearest_hint, problem
from jobgen.generator import Generator
from jobgen.planning.command_line import overrides
from jobgen.planning.job_options import OPTIONS, Job
from jobgen.planning.option_row import ALL, RANKS
from jobgen.planning.plan import Plan
from jobgen.schedulers import COMMANDS

if TYPE_CHECKING:
    from typing_extensions import Unpack

_ONE_AT_A_TIME = Lock()  # a process has one child that renders the templates of others
PathName = str | os.PathLike[str]
Profile = str | os.PathLike[str] | Mapping[str, Any]
Word = str | int | float | os.PathLike[str]
Words = str | Sequence[str]
Values = Mapping[str, Any] | Sequence[str]


class Options(TypedDict, total=False):
    """The options of a job, by the names of `Job`'s fields; None is as good as not given."""

    command: str | None
    folder: PathName | None
    environ: Mapping[str, str] | None
    hosts: Words | None
    nodes: int | str | None
    gpus_per_node: int | str | None
    time: int | str | None
    name: str | None
    partition: str | None
    queue: str | None
    account: str | None
    qos: str | None
    reservation: str | None
    constraint: str | None
    exclusive: bool | None
    shared: bool | None
    array: str | None
    after: Words | None
    mail: str | None
    mail_on: Words | None
    log_folder: PathName | None
    trainer: str | None
    environment: Values | None
    set_values: Values | None
    directives: Words | None
    launcher: str | None
    rendezvous: str | None
    max_restarts: int | str | None
    stall: int | str | None
    requeue: bool | None
    signal: int | str | None
    plain: bool | None
    template: PathName | None


def script(profile: Profile, program: Sequence[Word] = (), **options: Unpack[Options]) -> str:
    """The text of the script that a job is submitted with, as the command line writes it.

    `profile` is a name, the path of a .yaml file, or a mapping with a profile's keys. `program` has
    the words after the command line's `--`; without them, the profile's trainer runs.

    Raises JobgenError for a job that cannot be, and TypeError for an option that does not exist.
    """
    with errors_name_arguments():
        generator, job = _request("script", profile, program, options)
        if job.command not in RANKS:
            hint = f"one of: {', '.join(sorted(RANKS))}"
            raise problem("command", f"{job.command!r:.40} makes no script", "usage", hint)
        with _ONE_AT_A_TIME:
            return generator.script(job)


def plan(profile: Profile, program: Sequence[Word] = (), **options: Unpack[Options]) -> Plan:
    """The plan of a job: all that its script is made of, resolved and checked. It is frozen.

    The arguments and the errors are those of `script`.
    """
    with errors_name_arguments():
        return _planned(*_request("plan", profile, program, options))


def advice(
    profile: Profile, program: Sequence[Word] = (), **options: Unpack[Options]
) -> tuple[Problem, ...]:
    """What is possible in a job, and probably not meant: the warnings of the command line.

    Whether the program's file exists is not looked at. The arguments and the errors are those of
    `script`.
    """
    with errors_name_arguments():
        generator, job = _request("advice", profile, program, options)
        planned = _planned(generator, job)
    warnings = generator.advice(job, planned, len(planned.hosts))
    return tuple(with_arguments(warnings))


def _planned(generator: Generator, job: Job) -> Plan:
    try:
        return generator.plan(job, generator.hosts(job))
    except (MemoryError, RecursionError) as error:
        raise problem(f"jobgen {job.command}", excess_text(error), "limit") from None


def _request(
    function: str, profile: Profile, program: Sequence[Word], options: Mapping[str, Any]
) -> tuple[Generator, Job]:
    """The job that the arguments describe, and what plans it. Raises JobgenError and TypeError."""
    for name in options:
        if name not in Options.__annotations__:
            hint = _nearest_argument(name)
            text = f"{function}() got an unexpected keyword argument {name!r:.80}; {hint}"
            raise TypeError(text)
    given = {name: value for name, value in options.items() if value is not None}
    folder = Path(path_text("folder", given.pop("folder", ".")))
    generator = Generator(folder, environ=variables(given.pop("environ", {})))
    if isinstance(profile, Mapping):
        profile_name, tree = given_profile(profile)
        generator.profiles.add(profile_name, tree)
    else:
        profile_name = path_text("profile", profile)
    fields = job_fields(program, given)
    command = fields.pop("command", None) or _command(generator, profile_name, fields)
    return generator, _job(command, {**fields, "profile": profile_name})


def _nearest_argument(name: str) -> str:
    """A hint for a name that is no argument; it may be that of an option, such as `env`."""
    flags = {
        flag.strip("-").replace("-", "_"): key for key, row in OPTIONS.items() for flag in row.flags
    }
    if flags.get(name) in Options.__annotations__:
        return f"did you mean `{flags[name]}`?"
    return nearest_hint(name, Options.__annotations__)


def _command(generator: Generator, profile: str, fields: Mapping[str, Any]) -> str:
    """The command for a job: `byhand` if it has hosts, else the one of the profile's scheduler."""
    if "hosts" in fields:
        return "byhand"
    changes = overrides(Job("", set_values=fields.get("set_values", ())))
    try:
        resolved = generator.profiles.load(profile, changes)
    except JobgenError:  # the plan's error names the other mistakes, too
        return generator.command(profile)
    return COMMANDS[resolved.profile.scheduler or "local"]


def _job(command: str, fields: dict[str, Any]) -> Job:
    """The job; raises JobgenError for a field that its command does not have."""
    if command not in ALL:
        hint = f"one of: {', '.join(sorted(ALL))}"
        raise problem("command", f"unknown command {command!r:.40}", "usage", hint)
    for name in fields:
        commands = OPTIONS[name].commands if name in OPTIONS else RANKS
        if command not in commands:
            hint = f"it is an option of: {', '.join(sorted(commands))}"
            raise problem(name, f"`jobgen {command}` has no such option", "usage", hint)
    return Job(command, **fields)


def _signature(returned: str) -> Signature:
    """The signature that `help` shows: a checker of types reads `Unpack`, and a person does not."""
    hints = Options.__annotations__.items()
    either, keyword = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
    options = [
        Parameter(name, keyword, default=None, annotation=getattr(hint, "__forward_arg__", hint))
        for name, hint in hints
    ]
    program = Parameter("program", either, default=(), annotation="Sequence[Word]")
    return Signature(
        [Parameter("profile", either, annotation="Profile"), program, *options],
        return_annotation=returned,
    )


for _function in (script, plan, advice):
    setattr(_function, "__signature__", _signature(_function.__annotations__["return"]))  # noqa: B010
