"""sbatch has no such option."""

from jobgen.lint.reader.sbatch_options import OPTIONS, nearest_option
from jobgen.lint.rules import Directive, Edit, Findings, Script, finding_at, replacement


def check(script: Script) -> Findings:
    for directive in script.active_directives:
        option = directive.option
        if directive.scheduler != "slurm" or len(option) == 1:
            continue
        if near := nearest_option(option):
            text = f"sbatch has no option --{option}"
            edits = _written_right(script, directive)
            yield finding_at(directive, text, f"did you mean --{near}?", edits)


def _written_right(script: Script, directive: Directive) -> list[Edit]:
    """The edit that spells an option right, if it can be no other option."""
    name = directive.raw[2:].partition("=")[0]
    plain = name.replace("_", "-").lower()
    is_beginning = any(option.startswith(plain) for option in OPTIONS)
    near = [option for option in OPTIONS if _differs_by_one_letter(plain, option)]
    meant = [plain] if plain in OPTIONS else [] if is_beginning else near
    column = directive.column + 2
    is_there = script.lines[directive.line - 1].startswith(name, column - 1)
    return [replacement(directive.line, column, name, meant[0])] if len(meant) == is_there else []


def _differs_by_one_letter(word: str, other: str) -> bool:
    """Whether one letter more, less or changed, or two exchanged ones, are the difference."""
    while word and other and word[0] == other[0]:
        word, other = word[1:], other[1:]
    while word and other and word[-1] == other[-1]:
        word, other = word[:-1], other[:-1]
    return max(len(word), len(other)) <= 1 or (len(word) == 2 and word == other[::-1])
