"""Finds the words of a command line that set a key of a profile: the key's option, or --set."""

import json
import re
from collections.abc import Callable, Iterator

from jobgen.errors import JobgenError, Mark
from jobgen.other_words.search import answers, path_of, places, plain, with_unit, words
from jobgen.planning.job_options import OPTIONS
from jobgen.planning.job_size import size_words
from jobgen.planning.option_row import RANKS
from jobgen.profiles.kinds import Bool, Int, ProblemList
from jobgen.profiles.model import Profile
from jobgen.profiles.records import Key, keys_of
from jobgen.profiles.schema.document import example
from jobgen.profiles.units import Walltime
from jobgen.quoting import quote

KEYS = {key.path: key for key in keys_of(Profile)}
_ROWS = {flag: row for row in OPTIONS.values() for flag in row.flags}


def words_for(answer: str, command: str, value: str) -> str:
    """Returns the words that set a key; `answer` may be `PATH=VALUE, explanation` as in words.yaml.

    They contain `value`, the value of another tool's option, if the key takes this value.
    """
    answer, comma, note = answer.partition(", ")
    path, _, own = answer.partition("=")
    key = KEYS[path]
    text = own or next((each for each in _readings(value) if _takes(key, each, value)), "")
    if path in ("network.environment", "request.directives"):
        text = value
    return f"{_words(key, command, text, value)}{comma}{note}"


def _words(key: Key, command: str, text: str, value: str) -> str:
    path = key.path
    for row in OPTIONS.values():
        if row.path != path or command not in row.commands:
            continue
        if row.metavar:
            return f"{row.flags[0]} {quote(text) if text else row.placeholder}"
        if text in ("", row.flag_value):
            return row.flags[0]
    if path == "network.environment" and command in RANKS:
        pairs = re.findall(r"(?:^|(?<=[,{}]))(?!(?:ALL|NONE|NIL)\b)[A-Za-z_]\w*(?:=[^,{}]*)?", text)
        return " ".join(f"-e {quote(pair)}" for pair in pairs) or "-e NAME=VALUE"
    if path == "extends":
        return f"--profile {quote(text) if text else 'PROFILE'}"
    if path == "request.directives":
        return f"--directive={quote(text) if text.startswith('-') else 'OPTION'}"
    if text or not value or isinstance(key.row.kind, Int):
        return f"--set {quote(f'{path}={text or _placeholder(key, command)}')}"
    return f"--set {path}=VALUE, such as {_placeholder(key, command)}"


def _readings(value: str) -> Iterator[str]:
    """Yields the forms in which a key may take the value of another tool."""
    if value:
        yield value
        yield value.lower()
        yield f"[{json.dumps(value)}]" if " " in value else f"[{value}]"
        yield f"[{', '.join(value.replace(',', ' ').split())}]"
        numbers = re.findall(r"(?<![\w.])\d+(?![\w.])", value)
        yield from numbers if len(numbers) == 1 else ()


def _takes(key: Key, text: str, value: str) -> bool:
    """Whether a key takes a reading of a value; a walltime takes no number without a unit."""
    kind = key.row.kind
    if text.isdigit() and (
        isinstance(kind, Walltime) or (text != value and not isinstance(kind, Int))
    ):
        return False
    problems = ProblemList()
    try:
        key.row.kind.read(key.row.kind.parse_option(text, Mark(key.path)), problems)
    except JobgenError:
        return False
    return not problems.found


def _placeholder(key: Key, command: str) -> str:
    """Returns a placeholder for the value of a key: N, or the key's example."""
    if isinstance(key.row.kind, Bool):
        return "true"
    if "%" in (text := example(key)) and command == "qsub":  # an example with a pattern of Slurm
        return "FILE"
    return "N" if isinstance(key.row.kind, Int) else text.strip('"')


def option_words(
    name: str, command: str, value: str, of_key: Callable[[str, str, str], str] = words_for
) -> str:
    """Returns the words for an option of another tool or command; "" if jobgen has none.

    `of_key` is the function that makes the words for a key.
    """
    if command == "qsub" or plain(name) != "walltime":  # a number is seconds for PBS alone
        value = with_unit(name, value)
    if name == "exclusive" and value in ("user", "mcs", "topo") and command == "sbatch":
        return f"--set request.exclusive=false --directive=--exclusive={value}"
    if row := _ROWS.get(f"--{name}", _ROWS.get(f"-{name}")):
        if row.path:
            own = f"={row.flag_value}" * (not row.metavar and value in ("", "true"))
            return of_key(f"{row.path}{own}", command, value)
        return f"{row.flags[0]} {quote(value) if value else row.placeholder}" * (
            command in row.commands
        )
    if special := _special(name, command, value):
        return special
    for answer in answers("keys", name) or keys_named(name):
        return of_key(answer, command, value)
    for option in answers("options", name):
        row = _ROWS.get(option.split(" ")[0])
        return with_value(option, value) if row is None or command in row.commands else ""
    return ""


def keys_named(name: str) -> list[str]:
    """Returns the keys with this name or its plural, and none with a merely similar name."""
    found = places(name, KEYS, "")
    singular = plain(name).rstrip("s")
    return [each for each in found if plain(each.rpartition(".")[2]).rstrip("s") == singular]


def _special(name: str, command: str, value: str) -> str:
    """Returns the words for an option whose value has parts for several options of jobgen."""
    name = plain(name)
    gpus = re.match(r"(?:gpu:)?(?:(?!gpu:)([A-Za-z][\w.-]*):)?(\d+)(?=$|,|\()", value)
    if gpus and name in ("gres", "gpu"):
        kind = f" --set node.gpu_type={gpus[1]}" if gpus[1] and command != "qsub" else ""
        others = ",".join(each for each in value.split(",")[1:] if each[:3] != "gpu")
        if others and command != "qsub":
            kind += " --set request.gpu_option=gpus-per-node"
            kind += f" --directive={quote(f'--gres={others}')}"
        return f"-G {gpus[2]}{kind}"
    if value and "--after ID" in answers("options", name):
        return _after(value, command)
    if found := size_words(command, f"--{name}", value):
        return found
    return _of_slurm(name, value, command) if command in ("sbatch", "interactive") else ""


def _after(value: str, command: str) -> str:
    """Returns --after for each job of a dependency; for other forms, the scheduler's own option."""
    pattern = r"(?:after(ok|any|notok):)?(\d[\w.]*(?::\d[\w.]*)*)"
    found = [re.fullmatch(pattern, part) for part in value.split(",")]
    if not all(found):
        flag = "-W depend=" if command == "qsub" else "--dependency="
        return f"--directive={quote(f'{flag}{value}')}"
    ends = {"any": ":any", "notok": ":notok"}
    jobs = [(job, ends.get(part[1], "")) for part in found if part for job in part[2].split(":")]
    return " ".join(f"--after {job}{end}" for job, end in jobs)


def _of_slurm(name: str, value: str, command: str) -> str:
    """Returns the words for values of sbatch, submitit and torchx that a key spells otherwise."""
    path = next(map(path_of, answers("keys", name)), "")
    if path.startswith("request.memory") and value.isdigit():  # sbatch counts megabytes
        unit = "M" if re.match("mem(?!ory)", name) else "G"
        return f"--set {path}={value}{unit}"
    if re.fullmatch(r"""( ?--[a-z][\w-]*=[^\s"',]+)+""", value):  # options of sbatch
        value = value.replace(" --", ",").removeprefix("--")
    pairs = re.findall(r"""["']?([a-z][\w-]*)["']?[=:] *["']?([^"',}]+)""", value)
    if path == "request.directives" and pairs and not value.startswith("-"):
        return " ".join(
            f"-t {b}"
            if a == "time"
            else option_words(a, command, b) or f"--directive={quote(f'--{a}={b}')}"
            for a, b in pairs
        )
    return ""


PLACE = r"[ =](?:N|[A-Z]{2,}(?:-[A-Z]+)?)\b(?![+%:|])"


def with_value(text: str, value: str) -> str:
    """Returns words of jobgen with a value in the place of their only word in capitals."""
    if text == "-- PROGRAM" and value:
        is_for_shell = re.search("[;&|<>$`]", value)
        return f"-- {quote(value) if is_for_shell else re.sub('^python3? +', '', value)}"
    if text == "--array FIRST-LAST" and value.isdigit():  # the number of jobs
        return f"--array 0-{int(value) - 1}" if int(value) else text
    if value and text.endswith("%N"):
        return text.replace("%N", f"%{quote(value)}")
    found = re.findall(PLACE, text)
    if not value or len(found) != 1 or ", " in text:
        return text
    return text.replace(found[0], f"{found[0][0]}{quote(value)}")


def resource_words(name: str, value: str, in_chunk: bool = True) -> str:
    """Returns the words for a resource of PBS that is requested for a chunk or for the job."""
    if name == "place":
        if "excl" in value:
            return "--exclusive"
        return "" if value in ("pack", "free", "scatter") else f"--set request.place={quote(value)}"
    if name in ("select", "nodes") and "+" in value:
        numbers = re.findall(r"(?<![^+])(?:(\d+)(?![^:+])|\w)", value)  # a host's name is one node
        return f"-N {sum(int(each or 1) for each in numbers)}"
    if name in ("select", "nodes"):
        number, *others = re.sub(r"^(?=\w+=)", "1:", value).split(":")
        pairs = [each.partition("=") for each in others]
        found = [f"-N {number if number.isdigit() else 1}"]
        found += [resource_words(a, c) if b else f"-C {quote(a)}" for a, b, c in pairs]
        return " ".join(found)
    of_request = [each for each in answers("keys", name) if path_of(each).startswith("request.")]
    for answer in of_request if name != "filesystems" else ():
        return words_for(answer, "qsub", with_unit(name, value)).partition(", ")[0]
    if in_chunk:
        return f"--set {quote(f'request.chunk.{name}={value}')}"
    return f"--directive={quote(f'-l {name}={value}')}"


def letter_words(letter: str, value: str) -> str:
    """Returns the words for an option of qsub; "" if jobgen has none."""
    return with_value(str(words()["qsub"].get(letter, "")), value)


def with_paths(hint: str) -> str:
    """Returns a hint with --set KEY=VALUE for each option that sets one value of a profile."""

    def set_of(found: re.Match[str]) -> str:
        row = _ROWS.get(found[1])
        if not (row and row.path) or bool(row.metavar) != bool(found[2]):
            return found[0]
        return f"--set {row.path}={found[2] or row.flag_value}"

    use = r"(?:(?<=^use )|(?<=: use ))(--?[A-Za-z][\w-]*) ([^\s,;]+)(?=$|[,;])"
    hint = re.sub(use, set_of, hint)
    return re.sub(r"(?<!\S)(--?[A-Za-z][\w-]*)(?: ([A-Z]+|\d+)(?![\w:+|]))?", set_of, hint)
