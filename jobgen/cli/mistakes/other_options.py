"""Hints for options that a command does not have, such as options of sbatch, qsub and torchrun:
jobgen's own words for the same. The module is imported only after a mistake.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import partial

from click import Command, Context, Group, get_current_context

from jobgen.errors import JobgenError
from jobgen.lint.options import known_options
from jobgen.other_words.search import answers, form_words, path_of, places, plain
from jobgen.planning.job_options import FIELD_OF_FLAG, OPTIONS
from jobgen.planning.job_size import size_words
from jobgen.planning.key_words import (
    KEYS,
    PLACE,
    letter_words,
    option_words,
    resource_words,
    with_value,
    words_for,
)
from jobgen.planning.option_row import ALL, RANKS
from jobgen.profiles.model import Profile
from jobgen.profiles.resolve import Profiles
from jobgen.quoting import options_of, quote, split_words
from jobgen.schedulers import absent_keys, pbs_user_options, slurm_directives

_SBATCHS = known_options("sbatch").newest.keys() - {flag.lstrip("-") for flag in FIELD_OF_FLAG}
_SCHEDULERS = {"sbatch": "slurm", "qsub": "pbs", "interactive": "slurm", "local": "local"}
_CLOSE = 0.75  # the ratio of difflib from which a name is taken for a misspelt option


def words_to_write(hint: str) -> list[str]:
    """The words that a hint tells the user to write; none if it has a choice or a placeholder."""
    note = "(?:, (?:the|since|what|all) [^'\"]*)?"  # an explanation after the words
    found = re.fullmatch(rf"write (-(?:'[^']*'|(?!, |; | or ).)*){note}", hint)
    if not found or re.search(PLACE, found[1]):
        return []
    try:
        return split_words(found[1])
    except ValueError:  # the hint has quotes or operators of a shell
        return []


def own_words(command: Command, flag: str, value: str = "", args: Sequence[str] = ()) -> str:
    """The hint for an option, with its value, that a command does not have.

    A hint to write other words begins with `write`; the hint is "" if none is known. `args` are
    all words of the command, from which numbers of ranks are calculated.
    """
    name = str(command.name)
    flags = {
        each: re.split(r"[|[]", parameter.metavar or "")[0]
        for parameter in command.params
        for each in parameter.opts
        if each[:1] == "-"
    }
    has_sizes = args and name in ALL | {"doctor"}
    options = tuple(options_of(args))
    read_profile = partial(_profile, name, options)
    words = size_words(name, flag, value, options, read_profile) if has_sizes else ""
    if words:
        return f"write {words}" if words.startswith("-") else words
    found = _of_other_tool(name, flag, flags, value)
    is_own = re.split("[ =]", found)[0] in (*flags, *["--"] * (name in RANKS))
    if not found or (found[:1] == "-" and not is_own):
        found = _of_nobody(name, flag, flags, value)
    return f"write {found}" if found.startswith("-") else found


def _of_other_tool(name: str, flag: str, flags: Mapping[str, str], value: str) -> str:
    """The words of jobgen for another tool's option; "" if no known tool has the option."""
    if form := form_words(name, flag, value):
        return form
    singular = plain(flag).rstrip("s")
    for own in flags if len(flag) > 2 else ():
        if plain(own).rstrip("s") == singular:
            return f"{own} {quote(value) if value else flags[own]}".rstrip()
    if name in ALL or (name, flag) == ("doctor", "-l"):
        jobs = "interactive" if name == "doctor" else name
        return _of_letter(flag[1], jobs, value) if len(flag) == 2 else _of_name(flag, jobs, value)
    return _of_other_command(name, flag, flags, value)


def _of_nobody(name: str, flag: str, flags: Mapping[str, str], value: str) -> str:
    """A hint for an option that no known tool has."""
    if not answers("options", flag):
        for close in get_close_matches(flag, flags, n=1, cutoff=_CLOSE):
            return f"did you mean {close!r}?"
    if name not in ALL and flag in ("-o", "--output", "--out"):
        return f"write > {quote(value) if value else 'FILE'} behind the command"
    if name not in ("local", "byhand") and (others := _commands_with(flag)):
        return f"it is an option of {', '.join(others)}"
    if name in ALL:
        return _program_or_site(flag, name, value)
    long = ", ".join(each for each in flags if each.startswith("--"))
    return f"one of: {long}" if long else "there is only --help"


def _profile(command: str, options: Iterable[tuple[str, str]]) -> Profile | None:
    """The profile that a command's options or the environment name; None if it cannot be read."""
    own = "local" if command == "local" else ""
    names = [value for name, value in options if name == "--profile"]
    name = next(filter(None, [*names[:1], os.environ.get("JOBGEN_PROFILE"), own]), None)
    return readable_profile(name) if name else None


def readable_profile(name: str) -> Profile | None:
    """The profile of this name; None if it cannot be read: another message says why."""
    with suppress(JobgenError):
        return Profiles().load(name).profile
    return None


def _commands_with(flag: str) -> list[str]:
    context = get_current_context(silent=True)
    group = context.find_root().command if context else None
    return _names_with(flag, context, group) if context and isinstance(group, Group) else []


def _names_with(flag: str, context: Context, group: Group) -> list[str]:
    """The names of the commands of a group, and of the groups in it, that have an option."""
    found = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command and any(flag in each.opts for each in command.params):
            found.append(name)
        elif isinstance(command, Group):
            found += [f"{name} {each}" for each in _names_with(flag, context, command)]
    return found


def _of_other_command(command: str, flag: str, flags: Iterable[str], value: str) -> str:
    """The option for a word of another tool, for a command that makes no job; "" if none fits."""
    for own in answers(f"options of {command}", flag):
        return "write " * own.startswith("jobgen ") + with_value(own, value)
    for path in map(path_of, answers("keys", flag)):
        names = [each for row in OPTIONS.values() if row.path == path for each in row.flags]
        for own in (*names, f"--{path.rpartition('.')[2]}"):
            if own in flags:
                return f"{own} {quote(value)}" if value else own
    return ""


def _of_letter(letter: str, command: str, value: str) -> str:
    """The words for an option of one letter: qsub's for `jobgen qsub`, else sbatch's or qsub's."""
    if command == "qsub":
        return _of_qsub(letter, value)
    name = slurm_directives.LONG_NAMES.get(letter)
    is_qsubs = command == "interactive" or letter in "ljvVW"
    if name and not (letter in "vW" and "=" in value):
        other = f", or {_of_key('partition', command, value)} for a partition"
        return _of_name(f"--{name}", command, value) + other * (letter == "q")
    return _of_qsub(letter, value) if is_qsubs else ""


def _of_qsub(letter: str, value: str) -> str:
    if letter == "v" and "=" in value:
        return words_for("network.environment", "qsub", value)
    if letter == "W" and (pair := re.fullmatch(r"(\w+)=(.*)", value)):
        words = option_words("dependency", "qsub", pair[2]) if pair[1] == "depend" else ""
        return words or f"--directive={quote(f'-W {value}')}"
    if letter == "l" and (resources := _resources(value)):
        return resources
    if letter in "cn" and value.isdigit():  # sbatch's options; qsub's -c and -n take no number
        ranks = "launch.processes_per_node=N, the ranks on each node"
        return words_for("request.cpus_per_node" if letter == "c" else ranks, "qsub", value)
    if letter in pbs_user_options.ON_COMMAND_LINE:
        return pbs_user_options.ON_COMMAND_LINE[letter]
    if found := letter_words(letter, value):
        return found
    if letter in pbs_user_options.WITH_VALUE:
        return f"--directive='-{letter} {value or 'VALUE'}'"
    return f"--directive=-{letter}" if letter in pbs_user_options.WITHOUT_VALUE else ""


def _resources(text: str) -> str:
    """The words for a value of qsub's -l, such as `select=2:ncpus=8:ngpus=4,walltime=1:00:00`."""
    text = text if "=" in text else text.replace(" ", "=", 1)
    pairs = [part.strip().partition("=") for part in text.split(",")]
    found = [
        form_words("qsub", "-l", f"{name}={value}") or resource_words(name, value, False)
        for name, equals, value in pairs
        if equals
    ]
    note = ", all nodes of one kind" if "+" in text else ""
    if ranks := re.search(r"ppn=(\d+)(?!.*gpus=)", text):
        note += f", the {ranks[1]} as cores; for as many ranks on each node, also -G {ranks[1]}"
    return " ".join(dict.fromkeys(filter(None, found))) + note


def _of_name(flag: str, command: str, value: str) -> str:
    """The words for a long option: an option of another jobgen command, or of another tool."""
    name = re.sub("^slurm[-_]", "", flag.lstrip("-"))  # submitit's options begin with slurm_
    if found := option_words(name, command, value, _of_key):
        return found
    if command in ("local", "byhand") and (answers("options", name) or flag in FIELD_OF_FLAG):
        return f"`jobgen {command}` asks no scheduler: leave it out"
    for sentence in answers("sentences", name):
        return sentence
    if (
        command in ("sbatch", "interactive")
        and name in (known_options("srun").newest.keys() | {"uenv", "view"}) - _SBATCHS
    ):
        word = f"--{name}={value}" if value else f"--{name}"
        return f"--set {quote(f'launch.srun_options=[{word}]')}"
    if command in ("sbatch", "interactive") and name in _SBATCHS:
        argument = known_options("sbatch").newest[name].argument
        has_value = argument == "=" or (value and name in ("nice", "propagate"))
        given = f"={value or 'VALUE'}" if has_value else ""
        return slurm_directives.ON_COMMAND_LINE.get(
            name, f"--directive={quote(f'--{name}{given}')}"
        )
    return ""


def _of_key(answer: str, command: str, value: str) -> str:
    """The words that set a key, or the scheduler's alternative if it does not have the key."""
    path = path_of(answer)
    row = next((row for row in OPTIONS.values() if row.path == path), None)
    hint = absent_keys(_SCHEDULERS.get(command, "")).get(path, "")
    is_request = path.partition(".")[0] in ("request", "partition", "queue", "account", "limits")
    has_option = row is not None and command in row.commands
    if command in ("local", "byhand") and is_request and not has_option:
        return hint or f"`jobgen {command}` asks no scheduler: leave it out"
    if not hint:
        return words_for(answer, command, value)
    other = re.match(r"\D*?`([\w.]+)`", hint)
    if other and other[1] in KEYS:
        return words_for(other[1], command, value)
    return hint


def _program_or_site(flag: str, command: str, value: str) -> str:
    """A hint for an unknown option: the nearest key, a directive of the site, or the program's."""
    if command in ("local", "byhand") and flag in ("--submit", "--wait"):
        return f"`jobgen {command} … | bash` runs it"
    near = [] if flag in FIELD_OF_FLAG else places(flag.lstrip("-"), KEYS, "")[:1]
    if words := "".join(_of_key(each, command, value) for each in near):
        return f"did you mean {words}?" if words.startswith("-") else words
    if (command == "sbatch" and len(flag) > 2) or (command == "qsub" and len(flag) == 2):
        word = quote(f"{flag}{'=' if command == 'sbatch' else ' '}{value}" if value else flag)
        site = f"for an option of the site: --directive={word}"
        return f"{site}; for one of PROGRAM: after --; else leave it out"
    return "an option of PROGRAM stands after --" if command in RANKS else ""
