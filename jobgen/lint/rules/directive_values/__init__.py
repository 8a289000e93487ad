"""Rules about the values in directives; jobgen/lint/option_values says which values are valid."""

import re
from collections.abc import Iterator

from jobgen.lint.option_values import grammar_of
from jobgen.lint.reader.commands import OUTER
from jobgen.lint.reader.directives import command_options
from jobgen.lint.rules import Directive, Edit, Findings, Script, finding_at, replacement


def jg205_variable_in_directive(script: Script) -> Findings:
    for directive in script.active_directives:
        variable = re.search(r"\$\{?[A-Za-z_]\w*\}?", directive.value)
        is_of_openpbs = script.chunk_requests and directive.option in "oeN"
        if variable and (directive.scheduler == "slurm" or is_of_openpbs):
            text = f"`{variable[0]}` is not expanded in a directive"
            cure = "write the value, or give the option on the command line"
            yield finding_at(directive, text, cure)


# Text that a program or a reader replaces: variables, templates, `<name>` (`_name_` in a document),
# `...` and `[optional]`. The %4 of an array is not such a text.
_TEMPLATE = re.compile(
    rf"[$`<>{{}}!…{OUTER}]|\.\.\.|__|(?<!\w)_(\w*_)?(?!\w)|@\w+@|%[A-Za-z(]|\[[A-Za-z]|XX"
    r"|\b[A-Z][A-Z]+_[a-z]"
)
_UNIT = "([kmgt]b?)?"
_CAPITALS = rf"[A-Z][A-Z_]*{_UNIT}(?![a-z])"
_FORMAT = "[dhms]{1,2}|yyyy"
_LETTER = rf"(n|x+|y+){_UNIT}"
_WORD = (
    "(your|my|num|number|nb|job|some|any|the|time|count|size|amount|value|id|min|max)[A-Za-z_-]*"
)
_NAME = re.compile(rf"(?<![\w.])({_CAPITALS}|{_FORMAT}|{_LETTER}|{_WORD})(?![\w.])")
_JOB = re.compile(r"(?i):_*((your|my|prev\w*|the)_?)?(job|id|x+|n+\b|pid)")


def jg217_invalid_value(script: Script) -> Findings:
    for option in _options(script):
        is_openpbs = option.scheduler == "pbs" and script.chunk_requests
        grammar = grammar_of("openpbs" if is_openpbs else option.scheduler, option.option)
        # No value is written here; in a document, readers write it.
        is_missing = not option.value and (script.is_in_document or option.raw[-1:] != "=")
        if not grammar or is_missing or _TEMPLATE.search(option.value):
            continue
        if script.lines[option.line - 1].startswith("#", option.column - 1 + len(option.raw)):
            continue  # a # stands for the value
        refused = grammar.refused(option.value)
        # Where a number belongs, any name in capitals is a placeholder, too.
        if refused and not (_NAME if grammar.kind.startswith("number") else _JOB).search(refused):
            name = f"-{option.option}" if option.scheduler == "pbs" else f"--{option.option}"
            text = f"{name} does not take `{refused}`" if option.value else f"{name} has no value"
            yield finding_at(option, text, f"it takes {grammar.takes}")


def _options(script: Script) -> Iterator[Directive]:
    """All options of directives and of commands, each once."""
    for directive in script.active_directives:
        is_of_command = directive.line < script.first_line  # of the command that submits it
        is_with_equals = re.match("-[A-Za-z]=", directive.raw)  # JG215 reports it
        if not is_of_command and not is_with_equals:
            yield directive
    for command in script.commands:
        is_pbs = command.name == "qsub" and script.scheduler == "pbs"  # else it is Grid Engine's
        if command.name in ("srun", "salloc", "sbatch") or is_pbs:
            yield from command_options(command)


def jg223_pattern_in_job_name(script: Script) -> Findings:
    name = script.directive("job-name") if script.scheduler == "slurm" else None
    if name and (pattern := re.search(r"%\d*[AajJNnstux]\b", name.value)):
        text = f"the name has `{pattern[0]}` as it is: Slurm replaces it in names of files only"
        yield finding_at(name, text, "remove it, or give the name on the command line")


MOST_CHARACTERS = 230


def jg401_job_name(script: Script) -> Findings:
    name = script.directive("N")
    if name and (character := re.search(r"[ /:]", name.value)):
        text = f"PBS refuses a name with `{character[0]}`"
        yield finding_at(name, text, "use letters, digits and - _ . +")
    elif name and len(name.value) > MOST_CHARACTERS:
        text = f"PBS refuses a name of more than {MOST_CHARACTERS} characters"
        yield finding_at(name, text, "use a shorter one")
    for word in script.stray_words if name else ():
        if name and word.line == name.line and word.scheduler == "pbs" and word.raw[0] != "#":
            text = f"the name ends at the blank, and qsub refuses `{word.raw}`"
            yield finding_at(word, text, "use letters, digits and - _ . +")


_OLD_RESOURCES = ("ncpus", "nodes", "mpiprocs", "ompthreads")


def jg402_select_with_old_resources(script: Script) -> Findings:
    for directive in script.active_directives if script.chunk_requests else ():
        old = [name for name, _ in directive.resources if name in _OLD_RESOURCES]
        if old:
            text = f"{old[0]} cannot be used with select: qsub refuses it"
            yield finding_at(directive, text, "write it in select, with a colon before it")


_QUOTED_COMMA = re.compile(r"-v\s*[^'\s]*=\"[^\"]*,")


def jg403_comma_in_variable_list(script: Script) -> Findings:
    for directive in script.active_directives:
        line, number = script.lines[directive.line - 1], directive.line
        is_list = directive.scheduler == "pbs" and directive.option == "v"
        if is_list and _QUOTED_COMMA.search(line):
            text = "qsub removes the quotes before it splits the list: the comma ends the value"
            cure = "put single quotes around the whole value of -v"
            plain = re.fullmatch(r"\s*#PBS\s+-v\s+([^\s'\\]+)\s*", line)
            quoted = f"'{plain[1]}'" if plain else ""
            edits = [replacement(number, plain.start(1) + 1, plain[1], quoted)] if plain else []
            yield finding_at(directive, text, cure, edits)


def jg404_comment_in_directive(script: Script) -> Findings:
    for word in script.stray_words if script.chunk_requests else ():
        if word.scheduler == "pbs" and word.raw.startswith("#"):
            text = "qsub takes the comment for words of the directive"
            edits = _moved_up(script.lines[word.line - 1], word.line, word.column)
            yield finding_at(word, text, "put it on a line of its own", edits)


def _moved_up(line: str, number: int, column: int) -> list[Edit]:
    comment, directive = line[column - 1 :], line[: column - 1].rstrip()
    if re.match(r"#+\s*(PBS|SBATCH)\b", comment):
        return []  # alone on a line, the comment would be, or look like, a directive
    return [
        Edit(number, 1, number, 1, f"{comment.rstrip()}\n"),
        Edit(number, len(directive) + 1, number, len(line.rstrip()) + 1, ""),
    ]
