"""The options of qsub that --directive may add to a script."""

from __future__ import annotations

import re

from jobgen.errors import problem
from jobgen.planning.plan import Directive, Plan
from jobgen.schedulers import checked_visible

# What says the same to jobgen: words of its command line, and after a comma what they mean.
# Resources of a chunk that jobgen sets.
CHUNK_OPTIONS = {
    "ncpus": "--set node.cpus=N",
    "mpiprocs": "--set request.chunk.mpiprocs=N",
    "ngpus": "-G N",
    "mem": "--set request.memory=SIZE",
}
# Resources of a job that jobgen sets.
JOB_RESOURCES = {
    "nodes": "-N N",
    "select": "-N N --set request.chunk.NAME=VALUE",
    "place": "--set request.place=scatter",
    "walltime": "-t TIME",
}
OWN_WORDS = {
    "N": "-J NAME",
    "J": "--array FIRST-LAST",
    "A": "-A NAME",
    "q": "-q NAME",
    "o": "--set request.output=FILE",
    "e": "--set request.error=FILE",
    "j": "--set request.error=FILE, without which both streams go to one file",
    "k": "--set request.live_output=true",
    "v": "-e NAME=VALUE, or -e NAME",
    "l": "-N N -G N -t TIME, or --directive='-l NAME=VALUE'",
    "m": "--mail-on begin,end,fail",
    "M": "--mail ADDRESS",
    "r": "--requeue",
    "W": "--after ID, or --directive='-W ATTRIBUTE=VALUE'",
}
_PLANNED = "NJAqoejkv"  # options that contradict every script that jobgen plans
# Options that do not belong in a script that others submit, with what to do instead.
ON_COMMAND_LINE = {
    "I": "use jobgen interactive",
    "X": "use jobgen interactive",
    "S": "the first line of the script names its shell",
    "C": "a script's directives begin with #PBS",
    "z": "use it on qsub's own command line",
}
WITH_VALUE = "aclmMpPrRuW"
WITHOUT_VALUE = "fhV"


def user_option(directive: Directive, plan: Plan) -> tuple[str, str]:
    """The option that a person wrote, with its value."""
    text, place = directive
    found = re.fullmatch(r"-([A-Za-z])(?:[ =]?(.*))?", text, re.DOTALL)
    if not found:
        hint = "such as --directive='-W depend=afterok:123'"
        raise problem(place, f"{text!r:.80} is not an option of qsub", "value", hint)
    letter, value = found[1], found[2] or ""
    if letter in _PLANNED:
        text = f"jobgen sets -{letter} itself"
        raise problem(place, text, "conflict", f"use {OWN_WORDS[letter]}")
    if letter in ON_COMMAND_LINE:
        text = f"-{letter} does not belong in a script"
        raise problem(place, text, "conflict", ON_COMMAND_LINE[letter])
    _check_has_value(letter, value, place)
    if letter == "l":
        _check_resources(value, place)
    if letter == "W":
        _check_attributes(value, place)
    request = plan.request
    if (letter == "W" and request.after and "depend" in value) or (letter in "mM" and request.mail):
        hint = "use --after for all of it" if letter == "W" else "use --mail and --mail-on"
        raise problem(place, f"jobgen sets -{letter} {value}".strip(), "conflict", hint)
    if letter == "r" and plan.launch.requeue and value != "y":
        text = f"-r {value} undoes the -r y that is requested"
        raise problem(place, text, "conflict", "give one of the two")
    return f"-{letter}", checked_visible(value, place)


def _check_has_value(letter: str, value: str, place: str) -> None:
    """Raise JobgenError for an unknown option, and for a value that is missing or not taken."""
    if letter not in WITH_VALUE + WITHOUT_VALUE:
        options = " ".join(f"-{each}" for each in WITH_VALUE + WITHOUT_VALUE)
        text = f"-{letter} is not an option of qsub"
        raise problem(place, text, "value", f"one of: {options}")
    if letter in WITH_VALUE and not value:
        hint = f"write --directive='-{letter} VALUE'"
        raise problem(place, f"-{letter} needs a value", "value", hint)
    if letter in WITHOUT_VALUE and value:
        hint = f"write --directive=-{letter}"
        raise problem(place, f"-{letter} takes no value", "value", hint)


def _check_resources(text: str, place: str) -> None:
    planned = {**JOB_RESOURCES, **CHUNK_OPTIONS}
    for name in re.findall(r"(?:^|,)\s*(\w+)\s*=", text.lower()):  # PBS compares without case
        if name in planned:
            hint = f"PBS refuses it beside `select`: use {planned[name]}"
            raise problem(place, f"jobgen sets {name} itself", "conflict", hint)


# -W takes any attribute by its name, so also those that make it another job (Job_Name,
# array_indices_submitted, interactive) or make qsub wait for it (block). These are allowed.
_ATTRIBUTES = (
    "depend group_list release_nodes_on_stageout run_count sandbox stagein stageout"
    " tolerate_node_failures umask"
).split()


def _check_attributes(text: str, place: str) -> None:
    """A name stands between a comma and the next `=`; values may have commas."""
    first, *rest = text.split("=")
    for name in (first, *(part.rpartition(",")[2] for part in rest[:-1])):
        if not rest or name.strip() not in _ATTRIBUTES:
            hint = f"NAME=VALUE with one of: {', '.join(_ATTRIBUTES)}"
            text = f"-W takes no {name.strip()!r:.40} here"
            raise problem(place, text, "value", hint)
