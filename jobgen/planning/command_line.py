"""A job as a command line, in both directions, and the values of the profile that it overrides."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from jobgen.errors import problem
from jobgen.planning.job_options import Job, job_options
from jobgen.planning.option_row import RANKS, Option


def command_words(job: Job) -> list[str]:
    """The words of the command that makes this job's script, in one fixed spelling and order."""
    words = ["jobgen", job.command]
    for name, row in job_options(job.command):
        value = getattr(job, name)
        if value is None or value == ():
            continue
        if not row.metavar:
            words += [row.flags[0]] if value else []
            continue
        for text in value if row.repeatable else [value]:
            # A value that begins with - would be taken for an option.
            joined = text.startswith("-")
            words += [f"{row.flags[-1]}={text}"] if joined else [row.flags[0], text]
    return [*words, "--", *job.program] if job.program else words


def parse_command(words: Sequence[str]) -> Job:
    """The job for the words that follow `jobgen` in a script's header.

    They are read as the command line is, without the options that say what to do with a script.
    Raises JobgenError for anything else.
    """
    command, *others = words or ("",)
    if command not in RANKS:
        hint = f"one of: {', '.join(sorted(RANKS))}"
        raise problem(f"jobgen {command:.80}", "no command that makes a script", "usage", hint)
    return Job(command, **read_words(command, others, _job_rows(command)))


Rows = Mapping[str, tuple[str, Option]]  # a field with its option, by each spelling of the option


def rows_by_flag(options: Iterable[tuple[str, Option]]) -> Rows:
    """What `read_words` needs of a command's options."""
    return {flag: (name, row) for name, row in options for flag in row.flags}


@cache
def _job_rows(command: str) -> Rows:
    return rows_by_flag(job_options(command))


def read_words(command: str, words: Sequence[str], rows: Rows) -> dict[str, Any]:
    """The fields that the words after a command give: those of its options, and `program`.

    click reads the same, and takes as long as making the script. Raises JobgenError for what is no
    option.
    """
    fields: dict[str, Any] = {}
    rest = iter(words)
    for word in rest:
        if word == "--" or not word.startswith("-") or word == "-":
            fields["program"] = (*([] if word == "--" else [word]), *rest)
            break
        flag, value = _flag_and_value(word)
        if flag not in rows:
            raise problem(f"jobgen {command}", f"no option {flag:.80} of a script", "usage")
        name, row = rows[flag]
        if value is None and row.metavar:
            value = next(rest, None)
        if (value is None) == bool(row.metavar):
            mistake = "has no value" if row.metavar else "takes no value"
            raise problem(f"jobgen {command}", f"{word:.80} {mistake}", "usage")
        value = row.flag_value if value is None else value
        if row.repeatable:
            fields.setdefault(name, []).append(value)
        else:
            fields[name] = value
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()
    }


def _flag_and_value(word: str) -> tuple[str, str | None]:
    """The option that a word names, and its value if that is in the same word."""
    if word.startswith("--"):
        flag, has_value, value = word.partition("=")
        return flag, value if has_value else None
    return word[:2], word[2:] or None


def overrides(job: Job, host_count: int = 0) -> Iterator[tuple[str, str, str]]:
    """What the options change in the profile: (option, path, value), the strongest last.

    `host_count` is the number of hosts in --hosts, or 0 without it. Raises JobgenError for options
    that exclude each other.
    """
    for text in job.set_values:
        path, equals, value = text.partition("=")
        if not equals or not path:
            hint = "such as network.interface=hsn0"
            raise problem("--set", f"{text!r:.80} is not PATH=VALUE", "usage", hint)
        yield f"--set {path:.80}", path, value
    _check_conflicts(job)
    for name, row in job_options(job.command):
        value = getattr(job, name)
        if row.path == "request.nodes" and value is not None and ":" in value:
            least, _, value = value.partition(":")
            yield row.flags[0], "request.min_nodes", least
        elif row.path == "request.nodes" and value is not None and "+" in value:
            value, _, spares = value.partition("+")
            if not (value and spares):
                raise problem(row.flags[0], "a number is missing at the +", "value", "as in 16+2")
            yield row.flags[0], "request.spares", spares
        if row.path and value is not None:
            yield row.flags[0], row.path, value
    if host_count:
        yield "--hosts", "request.nodes", str(host_count)


def _check_conflicts(job: Job) -> None:
    if job.queue and job.reservation:
        hint = "a reservation of PBS is a queue: give one of the two"
        raise problem("--reservation", "-q names another queue", "conflict", hint)
    if job.exclusive and job.shared:
        raise problem("--shared", "--exclusive is given, too", "conflict", "give one of the two")
    if job.gpus_per_node and re.search("[,:]", job.gpus_per_node):
        text = f"{job.gpus_per_node!r:.40} is not a number of GPUs"
        hint = "one number, or one job for each kind of node"
        if found := re.fullmatch(r"([A-Za-z][\w.-]*):(\d+)", job.gpus_per_node):
            hint = f"-G {found[2]} --set node.gpu_type={found[1]}"
        raise problem("-G", text, "value", hint)
