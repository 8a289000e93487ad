"""What click would say of a wrong option, with what to write instead, for all of them at once."""

import re
from collections.abc import Sequence

import click

from jobgen.cli.lookup.other_commands import commands_with
from jobgen.cli.lookup.other_options import own_words
from jobgen.other_words.search import is_word, plain
from jobgen.planning.job_options import FIELD_OF_FLAG, OPTIONS
from jobgen.planning.key_words import option_words
from jobgen.profiles.search import profile_files

_MOST = 20  # wrong options in one message


def usage_error(
    command: click.Command, ctx: click.Context, args: Sequence[str], error: click.UsageError
) -> click.UsageError:
    """The error for the options that a command does not have, or one that it has otherwise."""
    if isinstance(error, click.BadOptionUsage) and not isinstance(error, click.NoSuchOption):
        hint = _right_use(str(command.name), error.option_name, args, error.message)
        return click.UsageError(f"{error.message.rstrip('.')}{hint}.", ctx)
    rest, lines = [*args], list[str]()
    while isinstance(error, click.NoSuchOption) and len(lines) < _MOST:
        flag, value, rest = _taken_out(error.option_name, rest)
        hint = own_words(command, flag, value, commands_with(flag, ctx))
        if lines and not hint:
            break
        lines.append(f"No such option '{flag}'{'; ' * bool(hint)}{hint}{'.' * (hint[-1:] != '?')}")
        try:
            command.make_parser(ctx).parse_args([*rest])
            break
        except click.UsageError as next_error:
            error = next_error
    return click.UsageError("\n".join(dict.fromkeys(lines)), ctx)


def one_dash(
    command: click.Command, ctx: click.Context, args: Sequence[str]
) -> click.UsageError | None:
    """The error for a word such as -hold_jid, in which click would see -h; None if none stands."""
    try:
        _, program, _ = command.make_parser(ctx).parse_args([*args])
    except click.UsageError:  # which comes next
        return None
    for before, word in zip(("", *args), args[: len(args) - len(program)], strict=False):
        word = word.partition("=")[0]
        is_name = re.fullmatch("-[a-zA-Z][a-z_-]+", word) and not before.startswith("--")
        is_own = any(f"-{word}" in each.opts for each in command.params)
        if is_name and (is_own or is_word(word)):
            flag, value, _ = _taken_out(word, args)
            hint = own_words(command, flag, value)
            return click.UsageError(f"No such option '{word}'; {hint}.", ctx)
    return None


def _taken_out(flag: str, words: Sequence[str]) -> tuple[str, str, list[str]]:
    """An option as it was typed, its value, and the words without both."""
    for number, word in enumerate(words):
        name, equals, value = word.partition("=")
        is_short = len(flag) == 2 and re.match(rf"-\w*{re.escape(flag[1])}", word)
        if word == "--":
            break
        if name != flag and not is_short:
            continue
        if is_short and name != flag:  # the value follows at once; or it is a name, as of mpirun
            if plain(name) in map(plain, FIELD_OF_FLAG) or is_word(name):
                flag = name
            else:
                return flag, word[2:].removeprefix("="), [*words[:number], *words[number + 1 :]]
        end = number + 1
        if not equals and end < len(words) and not words[end].startswith("-"):
            value, end = words[end], end + 1
        return flag, value, [*words[:number], *words[end:]]
    return flag, "", []


def _right_use(command: str, flag: str, args: Sequence[str], message: str) -> str:
    """For an option without its value, an example; for one with a value that it takes not, what
    has it."""
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


def stray_words(
    command: click.Command, ctx: click.Context, error: click.UsageError
) -> click.UsageError:
    """The error for words that a command does not take, with what may have been meant."""
    if not (found := re.match(r"Got unexpected extra arguments? \(([^\s)]+)", error.message)):
        return error
    word, hint = found[1], f"{ctx.command_path} takes only options"
    if word in profile_files() and any("--profile" in each.opts for each in command.params):
        hint = f"write --profile {word}"
    return click.UsageError(f"{error.message}; {hint}.", ctx)


def early_option(
    group: click.Group, ctx: click.Context, args: Sequence[str], error: click.NoSuchOption
) -> click.UsageError:
    """The error for an option before its command."""
    words = [word for word in args if group.get_command(ctx, word)]
    flag, value, _ = _taken_out(error.option_name, args)
    path = ctx.command_path
    if ctx.parent and not words:
        text = f"No such option '{flag}' of {path}; a command comes first, such as {path} list"
        return click.UsageError(f"{text}.", ctx)
    if flag in ("-V", "-v", "-version") and not words:
        return click.UsageError(f"No such option '{flag}'; write {path} --version.", ctx)
    name = words[0] if words else "sbatch"
    if value == name:
        value = ""
    text = f"No such option '{flag}' of {path}; options follow the command:"
    return click.UsageError(f"{text} {path} {name} {flag} {value}".rstrip() + " …", ctx)
