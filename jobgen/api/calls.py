"""The functions of the API. Each option of a job is an argument; None means: not given."""

# With this import, signatures show annotations as the source has them.
from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobgen.api.values import argument_type, given_profile, job_fields, path_text, variables
from jobgen.errors import JobgenError, Problem, nearest_hint, problem
from jobgen.generator import Generator, overrides
from jobgen.planning.job_options import FIELD_OF_FLAG, OPTIONS, Job
from jobgen.planning.option_row import ALL, RANKS, SCRIPT
from jobgen.planning.plan import Plan

if TYPE_CHECKING:
    from jobgen.api.job import SubmittedJob

PathName = str | os.PathLike[str]
Profile = str | os.PathLike[str] | Mapping[str, Any]
Word = str | int | float | os.PathLike[str]
Words = str | Sequence[str]
Values = Mapping[str, Any] | Sequence[str]

# The arguments with their types: first those that only the API has, then the options of a job.
ARGUMENTS = {
    "command": "str",
    "folder": "PathName",
    "environ": "Mapping[str, str]",
    **{name: argument_type(row) for name, row in OPTIONS.items() if name != "profile"},
}
# The argument for each name by which a message of the command line calls an option.
_PLACES = {**FIELD_OF_FLAG, "--": "program", "--submit": "submit"}


def script(profile: Profile, program: Sequence[Word] = (), **options: Any) -> str:
    """The text of the script that a job is submitted with, as the command line writes it.

    `profile` is a name, the path of a .yaml file, or a mapping with a profile's keys. `program` has
    the words after the command line's `--`; without them, the profile's trainer runs.

    Raises JobgenError for a job that cannot be, and TypeError for an option that does not exist.
    """
    with _request("script", profile, program, options) as (generator, job):
        if job.command not in RANKS:
            hint = f"one of: {', '.join(sorted(RANKS))}"
            raise problem("command", f"{job.command!r:.40} makes no script", "usage", hint)
        return generator.script(job)


def plan(profile: Profile, program: Sequence[Word] = (), **options: Any) -> Plan:
    """The plan of a job: all that its script is made of, resolved and checked. It is frozen.

    The arguments and the errors are those of `script`.
    """
    with _request("plan", profile, program, options) as (generator, job):
        return generator.plan(job)


def advice(profile: Profile, program: Sequence[Word] = (), **options: Any) -> tuple[Problem, ...]:
    """What is possible in a job, and probably not meant: the warnings of the command line.

    Whether the program's file exists is not looked at. The arguments and the errors are those of
    `script`.
    """
    with _request("advice", profile, program, options) as (generator, job):
        return tuple(with_arguments(generator.advice(job, generator.plan(job))))


def submit(
    profile: Profile, program: Sequence[Word] = (), *, once: str | None = None, **options: Any
) -> SubmittedJob:
    """Submit the script of a job, as the command line does with `--submit`; returns the job.

    It is submitted in `folder`, and with the environment of this process. The arguments are those
    of `script`. `once` is its name, and if a job of this name was submitted before, returns that.

    Raises JobgenError for a job that cannot be, or that the scheduler does not take.
    """
    from jobgen.api import submission  # needed for no script
    from jobgen.api.once import submit_once

    with _request("submit", profile, program, options) as (generator, job):
        if once is not None and job.name:
            raise problem("name", "`once` is the job's name", "conflict", "leave out one of them")
        if once is not None and job.command in OPTIONS["name"].commands:
            job = job._replace(name=path_text("once", once))
        if job.command not in SCRIPT:
            hint = f"one of: {', '.join(sorted(SCRIPT))}"
            raise problem("command", f"{job.command!r:.40} submits nothing", "usage", hint)
        plan = generator.plan(job)
        script, within = generator.render(plan, job.template), generator.profiles.within
        logs = submission.check(plan, within)
        generator.keep_codes()
        if once is not None:
            return submit_once(path_text("once", once), plan, script, within, logs)
        return submission.submit_plan(plan, script, within, logs)


@contextmanager
def _request(
    function: str, profile: Profile, program: Sequence[Word], options: Mapping[str, Any]
) -> Iterator[tuple[Generator, Job]]:
    """The generator and the job that the arguments describe.

    Raises TypeError and JobgenError; errors of the caller's block name arguments, too.
    """
    try:
        yield _generator_and_job(function, profile, program, options)
    except JobgenError as error:
        if not error.problems:
            raise
        raise JobgenError(with_arguments(error.problems), error.exit_code) from None


def _generator_and_job(
    function: str, profile: Profile, program: Sequence[Word], options: Mapping[str, Any]
) -> tuple[Generator, Job]:
    for name in options:
        if name not in ARGUMENTS:
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
    """A hint for a name that is no argument, but may name an option, such as `env`, or a key."""
    option = name.replace("_", "-")
    if (field := FIELD_OF_FLAG.get(f"--{option}", FIELD_OF_FLAG.get(f"-{option}"))) in ARGUMENTS:
        return f"did you mean `{field}`?"
    from jobgen.other_words.search import answers, path_of  # only a mistake needs them
    from jobgen.planning.key_words import keys_named

    fields = {row.path: field for field, row in OPTIONS.items() if row.path and row.metavar}
    for path in map(path_of, answers("keys", name) or keys_named(name)):
        return f"write {fields[path]}=…" if path in fields else f'write set_values={{"{path}": …}}'
    for words in answers("options", name):
        if (field := FIELD_OF_FLAG.get(words.split(" ")[0])) in ARGUMENTS:
            return f"write {field}=…"
    return nearest_hint(name, ARGUMENTS)


def _command(generator: Generator, profile: str, fields: Mapping[str, Any]) -> str:
    """The command for a job: `byhand` if it has hosts, else that of the profile's scheduler."""
    if "hosts" in fields:
        return "byhand"
    try:
        changes = overrides(Job("", set_values=fields.get("set_values", ())))
        return generator.command(profile, changes)
    except JobgenError:  # a plan reports this mistake together with the others
        return generator.command(profile)


def _job(command: str, fields: dict[str, Any]) -> Job:
    """The job. Raises JobgenError for an unknown command, or a field that the command lacks."""
    if command not in ALL:
        hint = f"one of: {', '.join(sorted(ALL))}"
        raise problem("command", f"unknown command {command!r:.40}", "usage", hint)
    for name in fields:
        commands = OPTIONS[name].commands if name in OPTIONS else RANKS
        if command not in commands:
            hint = f"it is an option of: {', '.join(sorted(commands))}"
            raise problem(name, f"`jobgen {command}` has no such option", "usage", hint)
    return Job(command, **fields)


def with_arguments(problems: Iterable[Problem]) -> list[Problem]:
    """The problems, with the name of the argument in the place of an option's flag."""
    return [
        each._replace(mark=each.mark._replace(file=_place(each.mark.file)))
        if not each.mark.line
        else each
        for each in problems
    ]


def _place(place: str) -> str:
    option, _, path = place.partition(" ")
    if option == "--set" and path:
        return f"set_values: {path}"
    return place if path else _PLACES.get(option, option)


def _signature(function: Callable[..., Any]) -> Signature:
    """The signature that `help` shows; type checkers read the same signature in `__init__.pyi`."""
    keyword, own = Parameter.KEYWORD_ONLY, Signature.from_callable(function)
    return Signature(
        [
            *(each for name, each in own.parameters.items() if name != "options"),
            *(
                Parameter(name, keyword, default=None, annotation=f"{kind} | None")
                for name, kind in ARGUMENTS.items()
            ),
        ],
        return_annotation=own.return_annotation,
    )


for _function in (script, plan, advice, submit):
    setattr(_function, "__signature__", _signature(_function))  # noqa: B010
