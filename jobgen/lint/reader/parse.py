"""Makes a Script from the text of a script, however broken the text is."""

import re
from collections.abc import Sequence

from jobgen.lint.reader.commands import Command, Syntax
from jobgen.lint.reader.directives import Directive, is_code, read_directives
from jobgen.lint.reader.script import Script
from jobgen.lint.reader.tree import read_tree

_DOTS = ("...", "…")  # for the commands that an example script leaves out
_BYTE_ORDER_MARK = "\ufeff"
_NAME = re.compile(r"""[^\s;&|()'"`$<>={},]+""")  # a function's name in a command or a string


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
    definitions = [
        (name, Syntax("function_definition", at)) for name, at, _ in script.function_ranges
    ]
    script.flow.add_calls(definitions, script.commands)
    _remove_unused_functions(script)
    script.commands.sort(key=lambda command: (command.line, command.column))
    _add_directives(script, options)
    return script


def _remove_unused_functions(script: Script) -> None:
    """Remove the commands of functions that nobody calls: they never run."""
    if any(_may_call_any_function(command) for command in script.commands):
        return
    uses: dict[str, list[int]] = {name: [] for name, _, _ in script.function_ranges}
    texts = [(each.offset, word.text) for each in script.commands for word in each.words]
    texts += [(each.offset, each.value.text) for each in script.assignments]
    for offset, text in texts if uses else ():
        for name in uses.keys() & _NAME.findall(text):
            uses[name].append(offset)
    for name, start, end in script.function_ranges:
        if all(start <= offset < end for offset in uses[name]):
            script.commands = [each for each in script.commands if not start <= each.offset < end]


def _may_call_any_function(command: Command) -> bool:
    """Whether a command's name is known only at run time, or the command reads other commands."""
    name = command.words[0].text if command.words else ""
    return "$" in name or "`" in name or command.name in ("eval", "source", ".")


def _add_directives(script: Script, options: Sequence[Directive]) -> None:
    """Add the directives; the first command is the first that the parser or the scheduler finds."""
    code = (
        number
        for number, line in enumerate(script.lines, 1)
        if is_code(line) and line.strip() not in _DOTS
    )
    commands = [command.line for command in script.commands if command.name not in _DOTS]
    commands += [assignment.line for assignment in script.assignments]
    first = min([next(code, len(script.lines) + 1), *commands])
    directives = read_directives(script.lines, first)
    script.stray_words = [each for each in directives if not each.option]
    replaced = {option.option for option in options}
    script.directives = [
        directive
        for directive in directives
        if directive.line not in script.quoted_lines and directive.option not in replaced | {""}
    ]
    script.directives += options
