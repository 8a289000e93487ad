"""A word in a directive is not an option, and sbatch refuses the script."""

import re

from jobgen.lint.reader.directives import StrayWord, read_directives
from jobgen.lint.reader.sbatch_options import OPTIONS
from jobgen.lint.rules import Edit, Findings, Script, finding_at, replacement

# Typographic dashes, with a hyphen before or after them.
_DASHES = re.compile("-?[\u2010-\u2015\u2212]{1,2}-?")


def check(script: Script) -> Findings:
    for word in script.stray_words:
        if word.scheduler != "slurm" or word.is_late:
            continue
        cure = "put quotes around a value with blanks, and no blanks around ="
        if _DASHES.match(word.text):
            cure = "type its dashes again, as plain hyphens"
        text = f"`{word.text}` is not an option: sbatch refuses the script"
        yield finding_at(word, text, cure, _written_right(script, word))


def _written_right(script: Script, word: StrayWord) -> list[Edit]:
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
