"""Rules about options of directives that are not spelled as sbatch reads them."""

import re

from jobgen.lint.reader.directives import StrayWord, read_directives
from jobgen.lint.reader.sbatch_options import OPTIONS, SHORT_WITH_VALUE, nearest_option
from jobgen.lint.rules import Directive, Edit, Findings, Script, finding_at, replacement


def jg203_unknown_option(script: Script) -> Findings:
    for directive in script.active_directives:
        option = directive.option
        if directive.scheduler != "slurm" or len(option) == 1:
            continue
        if near := nearest_option(option):
            text = f"sbatch has no option --{option}"
            edits = _option_written_right(script, directive)
            yield finding_at(directive, text, f"did you mean --{near}?", edits)


def _option_written_right(script: Script, directive: Directive) -> list[Edit]:
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


# Typographic dashes, with a hyphen before or after them.
_DASHES = re.compile("-?[\u2010-\u2015\u2212]{1,2}-?")


def jg204_stray_word(script: Script) -> Findings:
    for word in script.stray_words:
        if word.scheduler != "slurm" or word.is_late:
            continue
        cure = "put quotes around a value with blanks, and no blanks around ="
        if _DASHES.match(word.text):
            cure = "type its dashes again, as plain hyphens"
        text = f"`{word.text}` is not an option: sbatch refuses the script"
        yield finding_at(word, text, cure, _word_written_right(script, word))


def _word_written_right(script: Script, word: StrayWord) -> list[Edit]:
    """The edit after which sbatch reads the line, if there is one."""
    line, start = script.lines[word.line - 1], word.column - 1
    if edit := _likely_edit(line, start, word):
        written = line[: edit.column - 1] + edit.text + line[edit.end_column - 1 :]
        if not read_directives([written], 2)[1]:
            return [edit]
    return []


def _likely_edit(line: str, start: int, word: StrayWord) -> Edit | None:
    """The edit that writes what may be meant by a word, which begins at an index of a line."""
    dashes = _DASHES.match(line, start)
    name = re.compile(r"[\w-]+").match(line, dashes.end() if dashes else start)
    blanks = re.search(r"(?<=--)([a-z-]+)(\s*=\s*)$", line[:start])
    if dashes and name and (name[0] in OPTIONS or re.fullmatch(r"[A-Za-z]\d*", name[0])):
        new = "--" if name[0] in OPTIONS else "-"
        return replacement(word.line, word.column, dashes[0], new)
    if name and name[0] in OPTIONS and line[:start].strip() == "#SBATCH":
        has_value = line.startswith("=", name.end())
        return replacement(word.line, word.column, "", "--") if has_value else None
    if blanks and blanks[1] in OPTIONS:
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
        takes_value = flag[1] in SHORT_WITH_VALUE and re.match("=[^\\s=]", line[column - 1 :])
        edits = [replacement(directive.line, column, "=", " ")] if takes_value and value else []
        text = f"the value of {flag} is `{directive.value}`, with the ="
        yield finding_at(directive, text, cure, edits)
