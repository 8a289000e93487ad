"""Rules about directives that qsub refuses, or reads in another way."""

import re

from jobgen.lint.rules import Edit, Findings, Script, finding_at, replacement

MOST_CHARACTERS = 230


def jg401_job_name(script: Script) -> Findings:
    name = script.directive("N")
    if name and (character := re.search(r"[ /:]", name.value)):
        text = f"PBS refuses a name with `{character[0]}`"
        yield finding_at(name, text, "use letters, digits and - _ . +")
    elif name and len(name.value) > MOST_CHARACTERS:
        text = f"PBS refuses a name of more than {MOST_CHARACTERS} characters"
        yield finding_at(name, text, "use a shorter one")


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
        if word.scheduler == "pbs" and word.text.startswith("#"):
            text = "qsub takes the comment for words of the directive"
            edits = _moved_up(script.lines[word.line - 1], word.line, word.column)
            yield finding_at(word, text, "put it on a line of its own", edits)


def _moved_up(line: str, number: int, column: int) -> list[Edit]:
    comment, directive = line[column - 1 :], line[: column - 1].rstrip()
    if re.match(r"#+\s*(PBS|SBATCH)\b", comment):
        return []  # by itself, it would be a directive, or look like one
    return [
        Edit(number, 1, number, 1, f"{comment.rstrip()}\n"),
        Edit(number, len(directive) + 1, number, len(line.rstrip()) + 1, ""),
    ]
