"""Replaces click's errors: reports all wrong options at once, each with the words to write."""

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile

import click

from jobgen.cli.mistakes.other_options import own_words, words_to_write
from jobgen.errors import JobgenError
from jobgen.other_words.search import form_words, is_word, plain
from jobgen.paths import is_file, to_path
from jobgen.planning.job_options import FIELD_OF_FLAG, OPTIONS
from jobgen.planning.key_words import option_words
from jobgen.profiles.search import profile_files
from jobgen.quoting import quote

_MOST = 20  # the most wrong options in one message
_INTERACTIVE = "use jobgen interactive"


def other_error(
    command: click.Command, ctx: click.Context, args: Sequence[str], error: click.UsageError
) -> click.UsageError:
    """The error to raise instead of an error of click."""
    if isinstance(error, click.NoSuchOption):
        return usage_error(command, ctx, args)
    if isinstance(error, click.BadOptionUsage):
        hint = _right_use(str(command.name), error.option_name, args, error.message)
        return click.UsageError(f"{error.message.rstrip('.')}{hint}.", ctx)
    group = ctx.parent.command if ctx.parent else command
    if isinstance(error, click.MissingParameter) and "list" in getattr(group, "commands", ()):
        hint = f"one of those that `{ctx.command_path.rpartition(' ')[0]} list` shows"
        return click.UsageError(f"{error.format_message().rstrip('.')}; {hint}.", ctx)
    return _stray_words(command, ctx, error, args)


def usage_error(
    command: click.Command, ctx: click.Context, args: Sequence[str]
) -> click.UsageError:
    """The error about all options that a command does not have."""
    rest, wrong = [*args], list[tuple[str, str]]()
    while (flag := _wrong_option(command, ctx, rest)) and len(wrong) < _MOST:
        flag, value, rest = _taken_out(flag, rest)
        wrong.append((flag, value))
    hints = [_hint(command, flag, value, args, rest) for flag, value in wrong]
    later = later_problems(command, ctx, _repaired(hints, rest))
    if any(each.startswith("--: ") for each in later):  # this says how to write the program
        hints = [each if not re.match("write -- ['\"]", each) else "" for each in hints]
    lines = [
        f"No such option '{flag}'{'; ' * bool(hint)}{hint}{'.' * (hint[-1:] not in ('?', '.'))}"
        for (flag, _), hint in zip(wrong, hints, strict=True)
    ]
    return click.UsageError("\n".join(dict.fromkeys([*lines, *later])), ctx)


def _hint(
    command: click.Command, flag: str, value: str, args: Sequence[str], rest: Sequence[str]
) -> str:
    """The hint for a wrong option; `rest` is `args` without all wrong options."""
    name, colon, after_colon = flag.partition(":")  # as in --time:1:00:00
    hint = own_words(command, name, after_colon if colon else value, args)
    line = " ".join(map(quote, takewhile("--".__ne__, rest)))
    return f"write: jobgen interactive {line}" if line and hint == _INTERACTIVE else hint


def _repaired(hints: Iterable[str], rest: Sequence[str]) -> list[str]:
    """The command's other words, with the words that the hints tell the user to write."""
    words = list(map(words_to_write, hints))
    program = next((each for each in words if each[:1] == ["--"]), [])
    return [*(word for each in words if each[:1] != ["--"] for word in each), *rest, *program]


def dash_error(
    command: click.Command, ctx: click.Context, args: Sequence[str], options: Sequence[str]
) -> click.UsageError | None:
    """The error about a long dash, as editors write it, or about one dash in the place of two."""
    if any(it[:1] in ("–", "—") for it in takewhile(lambda it: not it.endswith(".py"), options)):
        letter = re.compile("^[–—](?=[A-Za-z](?![A-Za-z]))")
        words = [re.sub("^[–—]+", "--", letter.sub("-", word)) for word in args]
        line = " ".join(map(quote, words))
        return click.UsageError(f"a long dash is no -; write: {ctx.command_path} {line}.", ctx)
    return usage_error(command, ctx, args) if _one_dash(command, ctx, args) else None


def later_problems(command: click.Command, ctx: click.Context, words: Sequence[str]) -> list[str]:
    """The problems that a command would report for the words that a message recommends."""
    try:
        words = [word for word in words if word not in ("-h", "--help")]
        trial = command.make_context(str(command.name), words, ctx.parent)
        getattr(command, "check", dict)(trial.params)  # only a JobCommand has `check`
    except click.UsageError as error:
        return error.message.splitlines()
    except JobgenError as error:
        return str(error).splitlines()
    return []


def _wrong_option(command: click.Command, ctx: click.Context, words: Sequence[str]) -> str:
    """The first option among the words that a command does not have; "" if it has all."""
    if name := _one_dash(command, ctx, words):
        return name
    try:
        command.make_parser(ctx).parse_args([*words])
    except click.NoSuchOption as error:
        return error.option_name
    except click.UsageError:  # another mistake, which is reported after the options
        return ""
    return ""


def _one_dash(command: click.Command, ctx: click.Context, args: Sequence[str]) -> str:
    """The first long name after one dash, such as -hold_jid, which click reads as -h; else ""."""
    try:
        _, program, _ = command.make_parser(ctx).parse_args([*args])
        end = len(args) - len(program)
    except click.UsageError:
        end = next((at for at, it in enumerate(args) if re.search(r"^--$|\.py$", it)), len(args))
    for before, word in zip(("", *args), args[:end], strict=False):
        word = word.partition("=")[0]
        is_name = re.fullmatch("-[a-zA-Z][a-z_-]+", word) and not before.startswith("--")
        is_own = any(f"-{word}" in each.opts for each in command.params)
        if is_name and (is_own or is_word(word)):
            return word
    return ""


def _taken_out(flag: str, words: Sequence[str]) -> tuple[str, str, list[str]]:
    """An option as the user typed it, its value, and the words without both."""
    for number, word in enumerate(words):
        name, equals, value = word.partition("=")
        is_short = len(flag) == 2 and re.match(rf"-\w*{re.escape(flag[1])}", word)
        if word == "--":
            break
        if name != flag and not is_short:
            continue
        if is_short and name != flag:  # the letter and its value, or a long name, as for mpirun
            if plain(name) in map(plain, FIELD_OF_FLAG) or is_word(name):
                flag = name
            else:
                return flag, word[2:].removeprefix("="), [*words[:number], *words[number + 1 :]]
        values, end = [value] * bool(equals), number + 1
        while end < len(words) and _is_value(values, words[end:]):
            values, end = [*values, words[end]], end + 1
        return flag, " ".join(values), [*words[:number], *words[end:]]
    return flag, "", []


def _is_value(values: Sequence[str], words: Sequence[str]) -> bool:
    """Whether the first word belongs to the value of an option, after the words `values`.

    All words before `--` belong to options. Grid Engine's -pe takes a name and a number.
    """
    if re.match(r"-[^\s\d]\S*$", words[0]) or (values and words[0].endswith(".py")):
        return False
    return not values or "--" in words or (len(values) == 1 and words[0].isdigit())


def _right_use(command: str, flag: str, args: Sequence[str], message: str) -> str:
    """The end of an error about an option's value: an example of the value, or other words if the
    option takes none."""
    row = OPTIONS.get(FIELD_OF_FLAG.get(flag, ""))
    if row and row.metavar:
        example = row.example if isinstance(row.example, str) else row.example.get(command, "")
        return f", such as {flag} {example or row.placeholder}"
    if f"{flag}=expedite" in args:
        return f"; write {flag} --set launch.expedite=true"
    if "does not take" in message:
        value = next((word for word in args if word.startswith(f"{flag}=")), "").partition("=")[2]
        own = option_words(flag.lstrip("-"), command, value)
        return f"; write {flag} alone" + f", or {own} for {command}'s own" * (own not in ("", flag))
    return ""


def _stray_words(
    command: click.Command, ctx: click.Context, error: click.UsageError, args: Sequence[str]
) -> click.UsageError:
    """The error about words that a command does not take, with the words that may be meant.

    `-o FILE` is not offered for a file that exists, since the command would overwrite it.
    """
    if not (found := re.match(r"Got unexpected extra arguments? \(([^\s)]+)", error.message)):
        return error
    word, hint = found[1], f"{ctx.command_path} takes only options"
    flags = {flag for each in command.params for flag in each.opts}
    is_program = "--" in args or word.endswith(".py") or is_file(to_path(word))
    kind = "profile" if word in profile_files() else "word"
    if kind == "profile" and "--profile" in flags:
        hint = f"write --profile {word}"
    elif re.search(r"[./]", word) and "--output" in flags and not is_program:
        hint = f"write -o {quote(word)}"
    else:
        hint = form_words(str(command.name), kind, word) or hint
    return click.UsageError(f"{error.message}; {hint}.", ctx)


def early_option(
    group: click.Group, ctx: click.Context, args: Sequence[str], error: click.NoSuchOption
) -> click.UsageError:
    """The error about an option that stands before the command."""
    places = [at for at, word in enumerate(args) if group.get_command(ctx, word)]
    words = [args[at] for at in places]
    flag, value, _ = _taken_out(error.option_name, args[: places[0]] if places else args)
    path = ctx.command_path
    if ctx.parent and not words:
        text = f"No such option '{flag}' of {path}; a command comes first, such as {path} list"
        return click.UsageError(f"{text}.", ctx)
    if flag in ("-V", "-v", "-version") and not words:
        return click.UsageError(f"No such option '{flag}'; write {path} --version.", ctx)
    name = words[0] if words else "sbatch"
    text = f"No such option '{flag}' of {path}; options follow the command:"
    return click.UsageError(f"{text} {path} {name} {flag} {value}".rstrip() + " …", ctx)
