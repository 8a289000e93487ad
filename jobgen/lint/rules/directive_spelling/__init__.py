"""Rules about directives that the scheduler does not read as their author means them."""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby

from jobgen.lint.options import known_options
from jobgen.lint.reader.directives import full_name, is_code, read_directives
from jobgen.lint.reader.source import parse_tree, to_bytes
from jobgen.lint.rules import (
    Directive,
    Edit,
    Findings,
    Script,
    Word,
    finding_at,
    replacement,
    without_line,
)
from jobgen.lint.rules.option_names import instead_of


def jg201_late_directive(script: Script) -> Findings:
    if script.parse_error or (script.is_in_document and not script.interpreter):
        return  # a document may show parts of several scripts
    commands_above = list(accumulate(map(is_code, script.lines)))
    groups = groupby(_late_directives(script), key=lambda each: commands_above[each.line - 1])
    blocks = [list(group) for _, group in groups]
    can_move = _can_move(script, blocks)
    for block in blocks:
        more = len({directive.line for directive in block}) - 1
        plural = "s" * (more > 1)
        rest = f", with {more} more directive{plural} below it" if more else ""
        text = f"`{block[0].raw}` is ignored{rest}: it comes after the first command"
        edits = _moved(script, block) if can_move else ()
        yield finding_at(block[0], text, "move it above the first command", edits)


def _late_directives(script: Script) -> list[Directive]:
    """The directives after the first command, up to the end of the script or to another script."""
    first = next((number for number, line in enumerate(script.lines, 1) if is_code(line)), 0)
    ends = [
        number
        for number, line in enumerate(script.lines, 1)
        if re.match(r"#!/|#\s*#!\s*/", line) and number not in script.quoted_lines
    ]
    ends = [number for number in ends if number > first]  # those above are the script's own
    ends += [
        command.line
        for command in script.own_commands
        if command.name in ("exit", "return") and not command.enclosing
    ]
    end = min(ends, default=len(script.lines) + 1)
    found = [each for each in script.directives if each.is_late and each.line < end]
    if script.active_directives:
        return found
    # Without active directives, an indented directive may be a comment of another kind of script.
    return [directive for directive in found if not script.lines[directive.line - 1][:1].isspace()]


def _can_move(script: Script, blocks: Sequence[Sequence[Directive]]) -> bool:
    """Whether all late directives can be moved up; only a part of them would make another job."""
    directives = [directive for block in blocks for directive in block]
    if not directives or not can_be_added(script, directives, [each.line for each in directives]):
        return False
    if any(word.is_late for word in script.stray_words):
        return False
    if any(line.startswith("#!") for line in script.lines[1 : directives[-1].line]):
        return False  # a second script begins on this line
    before = ("\n".join(script.lines[: block[0].line - 1]) for block in blocks)
    return not any(parse_tree(to_bytes(each)).has_error for each in before)  # as inside an `if`


def _moved(script: Script, block: Sequence[Directive]) -> Iterator[Edit]:
    """The edits that move the directives of a block up, above the first command."""
    active_lines = [each.line for each in script.active_directives]
    target = max(active_lines, default=int(script.lines[0].startswith("#!"))) + 1
    numbers = sorted({directive.line for directive in block})
    moved = "".join(f"{script.lines[number - 1]}\n" for number in numbers)
    yield Edit(target, 1, target, 1, moved)
    yield from (without_line(script, number) for number in numbers)


def can_be_added(script: Script, added: Sequence[Directive], lines: Sequence[int]) -> bool:
    """Whether the directives `added` can become active, and no other directive sets their names."""
    others = [each for each in script.directives if each not in added]
    names = [name for each in added for name in _names(each)]
    other_names = {name for each in others for name in _names(each)}
    is_new = len(set(names)) == len(names) and not other_names.intersection(names)
    command = "sbatch" if added[0].scheduler == "slurm" else "qsub"
    options = {full_name(name) for name in known_options(command).by_name}
    schedulers = {each.scheduler for each in [*added, *others]}
    has_stray_word = any(word.line in lines for word in script.stray_words)
    is_read = options.issuperset(each.option for each in added) and not has_stray_word
    return is_new and is_read and len(schedulers) == 1 and "hetjob" not in other_names


def _names(directive: Directive) -> list[str]:
    """The names that a directive sets: its option, or the resources of PBS's -l."""
    return [name for name, _ in directive.resources] or [directive.option]


WIDEST_INDENT = 16  # more blanks make columns of a table, in a document


def jg202_misspelt_directive(script: Script) -> Findings:
    if not script.directives:
        return
    for comment in script.comments:
        before = script.lines[comment.line - 1][: comment.column - 1]
        # In small letters, `sbatch -N 2 job.sh` is a command, as a note for people.
        word = re.match(r"#(?![a-z]+\b)([A-Za-z]{5,8})\s+-", comment.text)
        if word and word[1] != "SBATCH" and sorted(word[1].upper()) == sorted("SBATCH"):
            text = f"#{word[1]} is not a directive"
            edits = _directive_written_right(script, comment, len(word[1]) + 1)
            yield finding_at(comment, text, "write #SBATCH", edits)
        is_indented = before.isspace() and len(before) <= WIDEST_INDENT
        if is_indented and re.match(r"#SBATCH\s+-", comment.text):
            text = "sbatch reads #SBATCH only in the first column"
            edits = _directive_written_right(script, comment, len("#SBATCH"))
            yield finding_at(comment, text, "remove the blanks before it", edits)


def _directive_written_right(script: Script, comment: Word, length: int) -> list[Edit]:
    """The edit that turns a comment into a directive; `length` is the length of its first word."""
    if any(map(is_code, script.lines[: comment.line - 1])):
        return []  # the comment is after the first command
    directives = read_directives(["#SBATCH" + comment.text[length:]], 2)
    are_options = directives and all(each.option for each in directives)
    if not are_options or not can_be_added(script, directives, ()):
        return []
    return [Edit(comment.line, 1, comment.line, comment.column + length, "#SBATCH")]


# Typographic dashes, with a hyphen before or after them.
_DASHES = re.compile("-?[\u2010-\u2015\u2212]{1,2}-?")


def jg204_stray_word(script: Script) -> Findings:
    for word in script.stray_words:
        line = script.lines[word.line - 1]
        # In a document, brackets stand for a value, or are a note.
        is_note = script.is_in_document and set("([") & set(line)
        if word.scheduler != "slurm" or word.is_late or is_note:
            continue
        if letter := _unknown_letter(script, word):
            text = f"sbatch has no option {letter.raw}"
            yield finding_at(letter, text, instead_of("sbatch", letter.option))
            continue
        text = f"`{word.raw}` is not an option: sbatch refuses the script"
        yield finding_at(word, text, _cure(word), _word_written_right(script, word))


def _cure(word: Directive) -> str:
    if word.raw.startswith("//"):
        return "`//` begins no comment here: write #"
    if _DASHES.match(word.raw):
        return "type its dashes again, as plain hyphens"
    return "write a value without blanks, or in quotes, and no blanks around ="


def _unknown_letter(script: Script, word: Directive) -> Directive | None:
    """The option -X before a stray word, if sbatch does not have it."""
    before = [each for each in script.directives if each.line == word.line]
    last = before[-1] if before else None
    return (
        last
        if last and re.fullmatch("-[A-Za-z]", last.raw) and last.option == last.raw[1]
        else None
    )


def _word_written_right(script: Script, word: Directive) -> list[Edit]:
    """The edit of a stray word after which sbatch reads the whole line; empty if none is likely."""
    line, start = script.lines[word.line - 1], word.column - 1
    if edit := _likely_edit(line, start, word):
        written = line[: edit.column - 1] + edit.text + line[edit.end_column - 1 :]
        if all(each.option for each in read_directives([written], 2)):
            return [edit]
    return []


def _likely_edit(line: str, start: int, word: Directive) -> Edit | None:
    """The edit that writes the likely meaning of a word, whose index in the line is `start`."""
    dashes = _DASHES.match(line, start)
    name = re.compile(r"[\w-]+").match(line, dashes.end() if dashes else start)
    blanks = re.search(r"(?<=--)([a-z-]+)(\s*=\s*)$", line[:start])
    options = known_options("sbatch").by_name
    if dashes and name and (name[0] in options or re.fullmatch(r"[A-Za-z]\d*", name[0])):
        new = "--" if name[0] in options else "-"
        return replacement(word.line, word.column, dashes[0], new)
    if name and name[0] in options and line[:start].strip() == "#SBATCH":
        has_value = line.startswith("=", name.end())
        return replacement(word.line, word.column, "", "--") if has_value else None
    if blanks and blanks[1] in options:
        return replacement(word.line, blanks.start(2) + 1, blanks[2], "=")
    return None


def jg215_short_option_with_equals(script: Script) -> Findings:
    for directive in script.active_directives:
        if not re.match("-[A-Za-z]=", directive.raw):
            continue
        flag, value = directive.raw[:2], directive.raw[3:]
        cure = f"use {flag} {value}"
        if len(directive.option) > 1:
            cure += f", or --{directive.option}={value}"
        line, column = script.lines[directive.line - 1], directive.column + 2
        option = known_options("sbatch").letters.get(flag[1])
        has_value = option and option.argument == "="
        takes_value = has_value and re.match("=[^\\s=]", line[column - 1 :])
        edits = [replacement(directive.line, column, "=", " ")] if takes_value and value else []
        text = f"the value of {flag} is `{directive.value}`, with the ="
        yield finding_at(directive, text, cure, edits)
