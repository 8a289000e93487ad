"""The options of qsub that --directive may add to a script."""

import re

from jobgen.errors import problem
from jobgen.planning.plan import Directive, Plan
from jobgen.profiles.conflicts import is_reserved
from jobgen.schedulers import checked_visible, user_options

CHUNK_OPTIONS = ("ncpus", "mpiprocs", "ngpus", "mem")  # resources of a chunk that jobgen sets
_RESOURCES = (*CHUNK_OPTIONS, "nodes", "select", "place", "walltime")
_PLANNED = "NJAqoej"  # options that contradict every script that jobgen plans
# Options that do not belong in a script that others submit, with what to do instead.
ON_COMMAND_LINE = {
    "I": "use jobgen interactive",
    "X": "use jobgen interactive",
    "S": "the first line of the script names its shell",
    "C": "a script's directives begin with #PBS",
    "z": "use it on qsub's own command line",
}
WITH_VALUE = "aclkmMpPrRuvW"
WITHOUT_VALUE = "fhV"


def own_options(plan: Plan) -> list[tuple[str, str]]:
    """The options that a person wrote, with their values."""
    options = user_options(plan, lambda each: _option(each, plan))
    resources = [re.match(r"\w+=", value) for flag, value in options if flag == "-l"]
    names = [found[0] for found in resources if found]
    for (flag, value), (_, place) in [*zip(options, plan.request.directives, strict=True)][::-1]:
        if flag == "-l" and names.count(name := f"{value.partition('=')[0]}=") > 1:
            hint = f"one alone: --set 'request.directives=[\"-l {value}\"]'"
            raise problem(place, f"-l {name}… is given twice", "conflict", hint)
    return options


def with_one_list(options: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Returns the options with all -v joined into one: of several, qsub reads only the last."""
    lists = [value for flag, value in options if flag == "-v"]
    others = [each for each in options if each[0] != "-v"]
    return [*others, ("-v", ",".join(lists))] if len(lists) > 1 else options


def _option(directive: Directive, plan: Plan) -> tuple[str, str]:
    """An option that a person wrote, with its value."""
    text, place = directive
    text = re.sub(r"^#PBS\s+", "", text)
    found = re.fullmatch(r"-([A-Za-z])(?:[ =]?(.*))?", text, re.DOTALL)
    if not found:
        hint = "such as --directive='-W depend=afterok:123'"
        raise problem(place, f"{text!r:.80} is not an option of qsub", "value", hint)
    letter, value = found[1], found[2] or ""
    if letter in _PLANNED:
        text = f"jobgen sets -{letter} itself"
        from jobgen.planning.key_words import letter_words  # only a mistake needs it

        raise problem(place, text, "conflict", f"use {letter_words(letter, value)}")
    if letter in ON_COMMAND_LINE:
        text = f"-{letter} does not belong in a script"
        raise problem(place, text, "conflict", ON_COMMAND_LINE[letter])
    _check_has_value(letter, value, place)
    if check := _CHECKS.get(letter):
        check(value, place, plan)
    request = plan.request
    if (letter == "W" and request.after and "depend" in value) or (letter in "mM" and request.mail):
        hint = "use --after for all of it" if letter == "W" else "use --mail and --mail-on"
        raise problem(place, f"jobgen sets -{letter} {value}".strip(), "conflict", hint)
    if letter == "P" and request.account and request.account_option == "P":
        raise problem(place, "jobgen sets -P itself", "conflict", "use -A NAME")
    if letter == "r" and plan.launch.requeue and value != "y":
        text = f"-r {value} undoes the -r y that is requested"
        raise problem(place, text, "conflict", "give one of the two")
    return f"-{letter}", checked_visible(value, place)


def _check_has_value(letter: str, value: str, place: str) -> None:
    """Raise JobgenError for an unknown option, a missing value, or a value that is not allowed."""
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


def _check_resources(text: str, place: str, plan: Plan) -> None:
    for name, value in re.findall(r"(?:^|,)\s*(\w+)\s*=([^,]*)", text.lower()):  # as PBS does
        if name in _RESOURCES:
            from jobgen.planning.key_words import resource_words  # only a mistake needs it

            found = resource_words(name, value)
            hint = f"use {found}" if found else "leave it out"
            if plan.request.resource_option in (None, "select"):
                form = "nodes" if name == "nodes" else "ncpus"
                without = f"; where the site takes none: --set request.resource_option={form}"
                hint = f"PBS refuses it beside `select`: {hint}"
                hint += without if name in ("nodes", "ncpus", "ngpus", "mem") else ""
            raise problem(place, f"jobgen sets {name} itself", "conflict", hint)


def _check_kept(text: str, place: str, plan: Plan) -> None:
    """Check -k: without d, PBS keeps the output in the home folder, named by PBS (qsub(1B), -k)."""
    request = plan.request
    if text not in ("o", "e", "oe", "eo", "n"):
        hint = "o, e, oe or n; --set request.live_output=true writes -k doe"
        raise problem(place, f"-k takes no {text!r:.40} here", "value", hint)
    if request.live_output:
        text, hint = "request.live_output sets -k doe", "--set request.live_output=false"
        raise problem(place, text, "conflict", hint)
    if text != "n" and (request.output or request.error):
        name = "output" if request.output else "error"
        why = f"-k {text} keeps the output in the home folder, and request.{name} has no effect"
        raise problem(place, why, "conflict", f"--set request.{name}=null, or no -k")


# A comma ends a value, unless the value is in quotes (qsub(1B), -v; tried on OpenPBS 23).
_VARIABLE = r"""([A-Za-z_]\w*)=(?:"[^"'\\]*"|[^"'\\,\s]*)"""


def _check_variables(text: str, place: str, plan: Plan) -> None:
    """Check -v, which is for PBS itself and its hooks: no name that the script or -e sets."""
    if not re.fullmatch(f"{_VARIABLE}(?:,{_VARIABLE})*", text, re.ASCII):
        hint = 'NAME=VALUE, several joined by commas, a value with a comma as "a,b"; or -e NAME'
        raise problem(place, f"-v takes no {text!r:.40} here", "value", hint)
    names = re.findall(rf"{_VARIABLE}(?:,|$)", text, re.ASCII)
    ours = {variable.name for variable in plan.software.environment}
    for name in names:
        if is_reserved(name):
            text, hint = f"{name} belongs to the script, torchrun or bash", "choose another name"
            raise problem(place, text, "value", hint)
        if name in ours:
            hint = f"keep one: this -v, for PBS itself, or -e {name}=VALUE, for the ranks"
            raise problem(place, f"the script sets {name}, too", "conflict", hint)
        if names.count(name) > 1:
            raise problem(place, f"{name} is given twice", "conflict", "give one of the two")


# The attributes that -W may set. It would take others, too: attributes that make another job of it
# (Job_Name, array_indices_submitted, interactive), or that make qsub wait for the job (block).
_ATTRIBUTES = (
    "depend group_list release_nodes_on_stageout run_count sandbox stagein stageout"
    " tolerate_node_failures umask"
).split()


def _check_attributes(text: str, place: str, plan: Plan) -> None:
    """Check the names in -W: each stands between a comma and a `=`; values may have commas."""
    has_group = plan.request.account and plan.request.account_option == "group_list"
    first, *rest = text.split("=")
    for name in (first, *(part.rpartition(",")[2] for part in rest[:-1])):
        if not rest or name.strip() not in _ATTRIBUTES:
            hint = f"NAME=VALUE with one of: {', '.join(_ATTRIBUTES)}"
            text = f"-W takes no {name.strip()!r:.40} here"
            raise problem(place, text, "value", hint)
        if has_group and name.strip() == "group_list":
            raise problem(place, "jobgen sets group_list itself", "conflict", "use -A NAME")


_CHECKS = {"l": _check_resources, "k": _check_kept, "v": _check_variables, "W": _check_attributes}
