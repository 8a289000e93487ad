"""Values that are right for an option of sbatch or qsub, and mean another thing here."""

import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from jobgen.errors import JobgenError, Mark, Problem, problem
from jobgen.other_words.search import habits
from jobgen.paths import is_file, to_path
from jobgen.planning.job_options import Job, job_options
from jobgen.planning.job_size import options_of
from jobgen.planning.option_row import BATCH
from jobgen.profiles.search import profile_files
from jobgen.quoting import quote

_MOST_NAMES = 5  # of profiles in one message
_SCRIPT = re.compile(r"[\w./-]+\.py")  # a program that is none but a Python script


def check_habits(job: Job, script: str | None) -> None:
    """Raise JobgenError for values of the other meaning; `script` is the value of -o."""
    found = [*_profile_problem(job), *_several_values(job)]
    for flag, value in _values(job, script):
        found += _value_problems(job.command, flag, value)
    if job.template or (job.program and not _SCRIPT.fullmatch(job.program[0])):
        from jobgen.cli.mistakes.shell_words import check_first_word  # not for most programs

        try:
            check_first_word(job)
        except JobgenError as error:
            found += error.problems
    if found:
        raise JobgenError(found)


def check_repeated(words: Sequence[str]) -> None:
    """Raise JobgenError for two profiles, and for a list in two options.

    Of other options the last counts, as with sbatch: the first may be an alias's.
    """
    for flag in ("--profile", "--mail-on", "--hosts"):
        values = [*dict.fromkeys(value for name, value in options_of(words) if name == flag)]
        if len(values) > 1 and flag != "--profile":
            hint = f"write {flag} {quote(','.join(values))}"
            raise problem(flag, "the option has one value, and is given twice", "usage", hint)
        if len(values) > 1:
            hint = f"write {' or '.join(f'{flag} {quote(it)}' for it in values)}; for the"
            hint += f" values of all: a file with `extends: [{', '.join(values)}]`"
            raise problem(flag, "a job is of one cluster, and is given several", "usage", hint)


def check_paths(paths: Sequence[str]) -> None:
    """Raise JobgenError for a path to nothing that is probably something else."""
    for path in (each for each in paths if each != "-" and not os.path.lexists(to_path(each))):
        if path in profile_files():
            hint = f"write jobgen profiles validate {path}"
            raise problem(path, "it is a profile, and no file here", "usage", hint)
        if re.search("[*?]", path):
            text = "no file has this name: a shell puts names in its place, if no quotes are there"
            raise problem(path, text, "usage", f"write {path} without quotes, or names of files")
        if path.endswith((".yaml", ".yml")) and is_file("jobgen.yaml"):
            hint = "write jobgen build, for jobgen.yaml, which is here"
            raise problem(path, "there is no such file", "usage", hint)


def _values(job: Job, script: str | None) -> Iterator[tuple[str, str]]:
    if script and job.command in BATCH:
        yield "-o", script
    if job.program and job.launcher != "node":
        yield "--", " ".join(job.program)
    for name, row in job_options(job.command):
        value = getattr(job, name) if row.metavar else None
        for text in value if isinstance(value, tuple) else [value] if value else []:
            yield row.flags[0], text


def _value_problems(command: str, flag: str, value: str) -> Iterator[Problem]:
    """The first habit that a value has."""
    is_letter = len(flag) == 2 and flag not in ("-e", "--")
    for table in (f"{flag} of {command}", flag, "any letter" if is_letter else ""):
        for pattern, answer in habits().get(table, {}).items():
            if found := re.fullmatch(pattern, value):
                text, _, hint = answer.partition("; ")
                raw = (value, *found.groups(""))
                words = [word and quote(word) for word in raw]
                text = text.format(f"{value!r:.80}")
                parts = re.split(r"[,;\s]+", value)
                commas = re.sub(r"((?:^|,)[^:,]+):\d+(?=,|$)|,slots=\d+", r"\1", ",".join(parts))
                each = " ".join(f"{flag} {quote(part)}" for part in parts)
                more = {"flag": flag, "lower": value.lower(), "commas": commas, "each": each}
                hint = hint.format(*words, **more, raw=raw)
                yield Problem(Mark(flag), text, "value", hint)
                return


def _profile_problem(job: Job) -> Iterator[Problem]:
    """No profile, or one that is named as a partition or queue."""
    if job.profile is not None or job.command == "local":
        return
    name = job.partition or job.queue
    if name in profile_files():
        text = f"no profile is named, and {name} is one"
        yield Problem(Mark("--profile"), text, "usage", f"write --profile {name}")
    elif job != Job(job.command):
        from jobgen.planner.assembly import command_words  # only a mistake needs it

        line = " ".join(map(quote, command_words(job._replace(profile="NAME"))))
        names = ", ".join(islice(_fitting_profiles(job.command), _MOST_NAMES))
        hint = f"write: {line}; a NAME is {names} or another one of `jobgen profiles list`"
        hint += "; `jobgen detect` writes one for the cluster here"
        yield Problem(Mark("--profile"), "no profile is named", "usage", hint)


def _fitting_profiles(command: str) -> Iterator[str]:
    """The profiles that a command takes, the user's own first."""
    from jobgen.cli.mistakes.other_commands import command_of

    for name in profile_files():
        own = command_of(name)
        if own == command or (own in BATCH and command not in BATCH):
            yield name


def _several_values(job: Job) -> Iterator[Problem]:
    """Values of several keys in one --set."""
    for text in job.set_values:
        pairs = re.split(r",(?=[A-Za-z_][\w.]*=)", text)
        if len(pairs) > 1 and text.count("=") == len(pairs) and not re.search(r"=[\[{]", text):
            group = pairs[0].partition("=")[0].rpartition(".")[0]
            hint = f"write {' '.join(_set_words(each, group, job.command) for each in pairs)}"
            yield Problem(Mark("--set"), f"{text!r:.80} has values of several keys", "value", hint)


def _set_words(pair: str, group: str, command: str) -> str:
    """The words for PATH=VALUE; a name without its group may be of the group of the one before."""
    from jobgen.planning.key_words import KEYS, option_words  # only a mistake needs it

    path, _, value = pair.partition("=")
    if f"{group}.{path}" in KEYS or (group == "network.environment" and "." not in path):
        return f"--set {quote(f'{group}.{pair}')}"
    words = "" if "." in path else option_words(path, command, value).partition(", ")[0]
    return words or f"--set {quote(pair)}"
