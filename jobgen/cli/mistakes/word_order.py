"""Finds words in a wrong place: options of jobgen after the program, and words of no option.

The hint for each mistake is the whole command line that the user probably meant.
"""

import re
import shutil
from collections.abc import Callable, Sequence

from click import Command

from jobgen.cli.mistakes.other_options import own_words, words_to_write
from jobgen.errors import JobgenError, Mark, Problem, problem
from jobgen.paths import is_file, to_path
from jobgen.planning.key_words import KEYS
from jobgen.profiles.search import is_profile_path, profile_files
from jobgen.quoting import quote

Words = Sequence[str]
Later = Callable[[Words], list[str]]
# A mistake: its place, its text, the words of the right command, and perhaps an alternative.
_Found = tuple[str, str, Words] | tuple[str, str, Words, str]
# The text that joins a stray word to the value of the option before it, by the option.
_JOINED = {"-e": "=", "--env": "=", "--set": "=", "-J": " ", "--name": " ", "--directive": " "}

# A number and its unit as two words, or the two parts of a time.
_UNIT = r"(?i).*\d (?:[smhd]|[kmgt]i?b?|(?:sec|min|hour|day)\w*)|\d+[dhm] \d+[hms]"


def order_problem(
    command: Command, head: Words, program: Words, later_problems: Later
) -> JobgenError | None:
    """The error about a command line without `--` between `head` and `program`.

    click takes the first word that is neither an option nor a value, and all after it, for the
    program. None if the user probably meant that. `later_problems` checks the corrected words.
    """
    if tuple(program) == ("help",):
        hint = f"jobgen {command.name} --help"
        return problem("help", "it would be the program that the ranks run", "usage", hint)
    if not (found := _order_problem(command, (str(command.name), *head), program)):
        return None
    place, text, right, *others = found
    hint = f"write: jobgen {_line(*right)}{''.join(others)}"
    lines = [str(Problem(Mark(place), text, "usage", hint)), *later_problems(right[1:])]
    return JobgenError("\n".join(lines))


def _order_problem(command: Command, head: Words, program: Words) -> _Found | None:
    end = program.index("--") if "--" in program else len(program)
    moved, others = _own_options(command, program[:end])
    following = program[end + 1 :]
    if following and (not following[0].startswith("-") or following[0] == "-m"):
        return _stray_word(command, head, program, program[:end], following)
    if "--profile" not in (*head, *program) and _is_profile(program[0]):
        others = others[1:]
        first = next((at for at, word in enumerate(others) if _starts_program(word)), len(others))
        words = ["--profile", program[0], *moved, *others[:first]]
        words += ["--", *others[first:]] if others[first:] else []
        text = f"no option takes the word {program[0]!r:.60}, which is a profile"
        return ("--profile", text, [*head, *words])
    if moved:
        text = f"`{_line(*moved)}` comes after {program[0]!r:.60}, and would go to it"
        other = f"; for the program: jobgen {_line(*head, '--', *program)}"
        right = [*head, *moved, "--", *others, *following]
        return (moved[0].partition("=")[0], text, right, other)
    if end == 1 and following:
        text = f"the program would get the `--` after {program[0]!r:.60}, too"
        other = f"; for the program: jobgen {_line(*head, '--', *program)}"
        return ("--", text, [*head, "--", program[0], *following], other)
    is_command = _starts_program(program[0]) or is_file(to_path(program[0])) or "/" in program[0]
    if end > 1 and not is_command and _with_word(command, head, program[:1]):
        first = next((at for at, word in enumerate(program) if _starts_program(word)), 1)
        return _stray_word(command, head, program, program[:first], program[first:])
    return None


def _starts_program(word: str) -> bool:
    return word.endswith((".py", ".sh")) or word == "-m" or shutil.which(word) is not None


def _line(*words: str) -> str:
    return " ".join(map(quote, words))


def _own_options(command: Command, program: Words) -> tuple[list[str], list[str]]:
    """The words of `program` that are the command's options, with values; and all other words."""
    takes_value = {
        flag: not getattr(each, "is_flag", False) for each in command.params for flag in each.opts
    }
    moved: list[str] = []
    others = list(program[:1])
    rest = list(program[1:])
    while rest:
        word = rest.pop(0)
        found = re.fullmatch(r"(--[\w-]+)(?:=.*)?|(-[A-Z])\d+|(-\w)", word, re.DOTALL)
        flag = next(filter(None, found.groups()), "") if found else ""
        if flag not in takes_value:
            others.append(word)
            continue
        moved.append(word)
        if takes_value[flag] and word == flag and rest:
            moved.append(rest.pop(0))
    return moved, others


def _joined(head: Words, word: str) -> str:
    """The last value in `head`, joined with `word`; "" if they probably do not belong together."""
    *_, flag, value = ("", *head)
    if flag in ("-e", "--env") and "=" in value:
        return ""
    if flag in _JOINED and not (flag == "--set" and "=" in value):
        start = value.rstrip(":") if _JOINED[flag] == "=" else value
        return f"{start}{_JOINED[flag]}{word}"
    is_unit = flag.startswith("-") and re.fullmatch(_UNIT, f"{value} {word}")
    return f"{value}{word}" if is_unit or (flag.startswith("-") and value.endswith(",")) else ""


def _stray_word(
    command: Command, head: Words, taken: Words, words: Words, program: Words
) -> _Found:
    """The mistake of `words` before a program whose first word belongs to no option.

    `taken` are the words that click took for the program.
    """
    words = words[1:] if words[0] == "=" and len(words) > 1 else words  # as in `NAME = VALUE`
    word, right, rest = words[0], head, words
    if _is_program(word):
        text = f"{word!r:.60} stands before `--`, and would be the program"
        return ("--", text, [*head, "--", *words, *program])
    values = []  # arguments of the program, such as Hydra's NAME=VALUE
    while rest and not _is_program(rest[0]):
        if longer := _with_word(command, right, rest):
            right = longer
        elif re.match(r"[+~]*\w[\w./@]*=", rest[0]):
            values.append(rest[0])
        else:
            break
        rest = rest[1:]
    text = f"no option takes the word {word!r:.60}, and no option after it is read"
    rest = rest if right is not head or values else rest[1:]
    other = f"; or, if {word:.60} is the program: jobgen {_line(*head, '--', *taken)}"
    is_known = right is not head and ("--" in taken or _named(command, word))
    return ("--", text, [*right, *rest, "--", *program, *values], other * (not is_known))


def _is_program(word: str) -> bool:
    return word.endswith((".py", ".sh")) or is_file(to_path(word))


def _with_word(command: Command, head: Words, words: Words) -> Words:
    """`head`, extended by the probable meaning of the first of `words`; () if it has none."""
    word = words[0]
    if joined := _joined(head, word):
        return [*head[:-1], joined]
    if head[0] == "byhand" and "--hosts" not in head and not re.search("[=/]", word):
        return [*head, "--hosts", re.sub(r":\d+", "", word)]
    if "--hosts" in head[-2:-1] and not re.search("[=/]", word):
        return [*head[:-1], f"{head[-1].rstrip(',')},{word}"]
    if named := _named(command, word):
        return [*head, *named]
    if flag := _flag_of(word):
        return [*head, flag, word]
    if "--profile" not in (*head, *words) and _is_profile(word):
        return [*head, "--profile", word]
    return ()


def _named(command: Command, word: str) -> list[str]:
    """The option and value for a word such as nodes=2, with an option of jobgen or another tool."""
    found = re.fullmatch(r"(?:hydra\.launcher\.)?([A-Za-z][a-z_-]*)=(.+)", word)
    if not found:
        return []
    name, value = found.groups()
    flag = f"-{name}" if len(name) == 1 else f"--{name}"
    if any(flag in each.opts for each in command.params):
        return [flag, value]
    words = words_to_write(own_words(command, flag, value)) if len(name) > 1 else []
    return words if words[:1] != ["--"] else []


def _flag_of(word: str) -> str:
    """The option for a word such as NAME=VALUE (-e) or request.nodes=2 (--set); "" for others."""
    found = re.match(r"([a-z_]+)(\.\w+)+=", word)
    if found and any(path.startswith(f"{found[1]}.") for path in KEYS):
        return "--set"
    return "-e" if re.match(r"[A-Z_][A-Z0-9_]*=", word) else ""


def _is_profile(word: str) -> bool:
    is_name = word in profile_files() and not shutil.which(word)
    return is_name or is_profile_path(word)
