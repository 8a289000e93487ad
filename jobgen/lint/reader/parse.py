"""From the text of a script to a Script, however broken the text is."""

import re
from collections.abc import Iterator, Sequence

from jobgen.lint.reader.commands import Command
from jobgen.lint.reader.directives import Directive, is_code, read_directives
from jobgen.lint.reader.script import Script
from jobgen.lint.reader.tree import read_tree

_DOTS = ("...", "…")  # something is left out, in a script that only shows the idea
_BYTE_ORDER_MARK = "\ufeff"
_NAME = re.compile(r"""[^\s;&|()'"`$<>={},]+""")  # of a function, in a command or a string


def parse(text: str, file: str, first_line: int = 1, options: Sequence[Directive] = ()) -> Script:
    """The script in `text`, whose lines before `first_line` are empty.

    The `options` are those of sbatch's or qsub's command line; they replace the script's own.
    """
    has_mark = text.startswith(_BYTE_ORDER_MARK)
    script = Script(file, text.removeprefix(_BYTE_ORDER_MARK), first_line, has_mark)
    if not script.is_other_language:
        try:
            read_tree(script)
        except RecursionError:
            script.parse_error = (1, 1)
    _remove_unused_functions(script)
    script.commands.sort(key=lambda command: (command.line, command.column))
    _add_directives(script, options)
    return script


def _remove_unused_functions(script: Script) -> None:
    """Remove the commands of functions that nobody calls: they never run."""
    if any(_may_call_any_function(command) for command in script.commands):
        return
    uses: dict[str, list[int]] = {name: [] for name, _, _ in script.function_ranges}
    for offset, text in _texts(script) if uses else ():
        for name in uses.keys() & _NAME.findall(text):
            uses[name].append(offset)
    for name, start, end in script.function_ranges:
        if all(start <= offset < end for offset in uses[name]):
            script.commands = [each for each in script.commands if not start <= each.offset < end]


def _texts(script: Script) -> Iterator[tuple[int, str]]:
    """Every text that may name a function, with the offset of its command."""
    for command in script.commands:
        yield from ((command.offset, word.text) for word in command.words)
    yield from ((each.offset, each.value.text) for each in script.assignments)


def _may_call_any_function(command: Command) -> bool:
    """Whether a command's name is not known before it runs, or it reads other commands."""
    name = command.words[0].text if command.words else ""
    return "$" in name or "`" in name or command.name in ("eval", "source", ".")


def _add_directives(script: Script, options: Sequence[Directive]) -> None:
    directives, script.stray_words = read_directives(script.lines, _first_command_line(script))
    replaced = {option.option for option in options}
    script.directives = [
        directive
        for directive in directives
        if directive.line not in script.quoted_lines and directive.option not in replaced
    ]
    script.directives += options


def _first_command_line(script: Script) -> int:
    """The line of the first command, by the parser and as sbatch and qsub find it."""
    lines = [command.line for command in script.commands if command.name not in _DOTS]
    lines += [assignment.line for assignment in script.assignments]
    return min([_first_code_line(script.lines), *lines])


def _first_code_line(lines: Sequence[str]) -> int:
    """The first line that is neither blank nor a comment."""
    for number, line in enumerate(lines, 1):
        if is_code(line) and line.strip() not in _DOTS:
            return number
    return len(lines) + 1
