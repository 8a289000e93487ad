"""The job scripts that a document shows: Markdown, MyST, reStructuredText."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_SUFFIXES = frozenset((".md", ".markdown", ".rst"))
# A block with a command before its first directive is a session at a terminal, or only a part of a
# script.
_SCRIPT = re.compile(r"(?:[ \t]*(?:#.*)?\n)*?(#!.*sh\b|#(SBATCH|PBS)[ \t])")
# Directives of Sphinx whose text is code. All others, such as tabs and notes, hold more text.
_CODE = r"code|code-block|code-cell|code-tab|sourcecode|parsed-literal|prompt"
_CODE_DIRECTIVE = re.compile(rf"\s*\.\.\s+({_CODE})::")
_OTHER_DIRECTIVE = re.compile(r"\s*\.\.(\s|$)")  # or a comment
_OPTION = re.compile(r"\s*:[\w-]+:")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*(.*)")
# Material for MkDocs: the number of an annotation, after a directive.
_ANNOTATION = re.compile(
    r"^(#(?:SBATCH|PBS)[ \t].*?)[ \t]+(?:#[ \t]*)?\(\d+\)!?[ \t]*$", re.MULTILINE
)

# <your file>, in a command; [###], which begins a comment for sbatch. What else a directive has is
# for the rules.
_PLACEHOLDER = re.compile(
    r"(?<!<)<(?=[^\s<>&|;$(=])[^<>\n]*(?<!\s)>(?!>)|<<[\w ./-]+>>|\[#+\w*\]|(?<==)#+(?=\s|$)"
)


def is_document(path: str) -> bool:
    """Whether a file is a text that shows scripts, by its name."""
    return Path(path).suffix.lower() in _SUFFIXES


def is_whole_script(text: str) -> bool:
    """Whether a text is a whole script, by its beginning."""
    return bool(_SCRIPT.match(text))


def scripts_in(document: str) -> Iterator[tuple[str, int]]:
    """Each script after as many empty lines as it has lines before it, and its indentation."""
    lines = document.replace("\r\n", "\n").split("\n")
    for first, last in _blocks(lines):
        block = lines[first:last]
        indent = min((_indent(line) for line in block if line.strip()), default=0)
        script = "\n".join(line[indent:] for line in block)
        if is_whole_script(script):
            yield "\n" * first + _as_written(script) + "\n", indent


def _as_written(script: str) -> str:
    """A script as its reader writes it: no annotations, and plain words for placeholders."""
    script = _ANNOTATION.sub(r"\1", script)
    return _PLACEHOLDER.sub(lambda found: re.sub(r"\W", "_", found[0]), script)


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The lines of each block of code: the first one, and the one after the last."""
    containers: list[str] = []  # the fences around text that holds fences, outermost first
    number = 0
    while number < len(lines):
        line, first = lines[number], number + 1
        number = first
        if fence := _FENCE.match(line):
            if containers and not fence[2] and fence[1] == containers[-1]:
                containers.pop()
            elif re.match(rf"\{{(?!({_CODE})\}})", fence[2]):  # MyST: ```{note}
                containers.append(fence[1])
            else:
                last = _end_of_fence(lines, first, fence[1])
                yield _after_options(lines, first, last), last
                number = last + 1
        elif _begins_literal_block(line):
            number = _end_of_indented(lines, first, _indent(line))
            yield _after_options(lines, first, number), number


def _end_of_fence(lines: Sequence[str], first: int, fence: str) -> int:
    """The line that closes a fence, or the end of the document."""
    closing = (n for n in range(first, len(lines)) if lines[n].strip().startswith(fence))
    return next(closing, len(lines))


def _begins_literal_block(line: str) -> bool:
    """Whether the lines below that are indented are code, in reStructuredText."""
    if _OTHER_DIRECTIVE.match(line):
        return bool(_CODE_DIRECTIVE.match(line))
    return line.rstrip().endswith("::") and not re.fullmatch(r"\s*:{3,}\s*", line)


def _end_of_indented(lines: Sequence[str], first: int, indent: int) -> int:
    """The first line at or after `first` that is not indented by more than `indent`."""
    outside = (
        n for n in range(first, len(lines)) if lines[n].strip() and _indent(lines[n]) <= indent
    )
    return next(outside, len(lines))


def _after_options(lines: Sequence[str], first: int, last: int) -> int:
    """The first line after the options of a directive, such as `:linenos:`."""
    while first < last and _OPTION.match(lines[first]):
        first += 1
    return first


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
