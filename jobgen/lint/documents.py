"""The job scripts that a document shows: Markdown, MyST, reStructuredText."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_SUFFIXES = frozenset((".md", ".markdown", ".rst"))
# The beginning of a whole script. A block with a command before its first directive is a terminal
# session, or only a part of a script.
_SCRIPT = re.compile(r"(?:[ \t]*(?:#.*)?\n)*?(#!.*sh\b|#(SBATCH|PBS)[ \t])")
# Directives of Sphinx whose text is code. All others, such as tabs and notes, hold more text.
_CODE = r"code|code-block|code-cell|code-tab|sourcecode|parsed-literal|prompt"
# reStructuredText: the indented lines after such a line are code. The line is a directive for code,
# or a text that ends with `::`. Other lines that begin with `..` are other directives, or comments.
_LITERAL = re.compile(rf"\s*\.\.\s+({_CODE})::|(?!\s*\.\.(\s|$))(?!\s*:{{3,}}\s*$).*::\s*$")
_OPTION = re.compile(r"\s*:[\w-]+:")  # an option of a Sphinx directive, such as `:linenos:`
_FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*(.*)")
# reStructuredText: the line below, and perhaps above, a heading.
_UNDERLINE = re.compile(r"~{3,}\s*")
# The first line of a session that shows a script: host> cat job.sh
_SHOWN = re.compile(r"(\S*[\w\])]?[>$#%])[ \t]+cat[ \t]+[\w./-]+[ \t]*")
# Material for MkDocs: the number of an annotation, after a directive.
_ANNOTATION = re.compile(
    r"^(#(?:SBATCH|PBS)[ \t].*?)[ \t]+(?:#[ \t]*)?\(\d+\)!?[ \t]*$", re.MULTILINE
)

# Placeholders in commands (<your file>, {{ file }}), and [###]: for sbatch, # begins a comment.
# The rules find other placeholders in directives.
_PLACEHOLDER = re.compile(
    r"(?<!<)<(?=[^\s<>&|;$(=])[^<>\n]*(?<!\s)>(?!>)|<<[\w ./-]+>>|\[#+\w*\]|(?<==)#+(?=\s|$)"
    r"|\{\{[^{}\n]*\}\}"
)


def is_document(path: str) -> bool:
    """Whether a file is a document that may show scripts, according to its suffix."""
    return Path(path).suffix.lower() in _SUFFIXES


def is_whole_script(text: str) -> bool:
    """Whether the beginning of a text is that of a whole script."""
    return bool(_SCRIPT.match(text))


def scripts_in(document: str) -> Iterator[tuple[str, int]]:
    """Each whole script, after empty lines that keep its line numbers, and its indentation."""
    lines = document.replace("\r\n", "\n").split("\n")
    for first, last in _blocks(lines):
        while first < last and (not lines[first].strip() or _OPTION.match(lines[first])):
            first += 1
        if shown := _SHOWN.fullmatch(lines[first].strip()) if first < last else None:
            first += 1
            prompts = (at for at in range(first, last) if lines[at].strip().startswith(shown[1]))
            last = next(prompts, last)
        block = lines[first:last]
        indent = min((_indent(line) for line in block if line.strip()), default=0)
        script = "\n".join(line[indent:] for line in block)
        if is_whole_script(script):
            # As a reader submits the script: without annotations, and with words for placeholders.
            script = _ANNOTATION.sub(r"\1", script)
            script = _PLACEHOLDER.sub(lambda found: re.sub(r"\W", "_", found[0]), script)
            yield "\n" * first + script + "\n", indent


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The index of the first line of each code block, and of the line after the block."""
    containers: list[str] = []  # the fences around text that holds fences, outermost first
    number = 0
    while number < len(lines):
        line, first = lines[number], number + 1
        number = first
        if _UNDERLINE.fullmatch(line) and _is_at_heading(lines, first - 1):
            continue
        if fence := _FENCE.match(line):
            if containers and not fence[2] and fence[1] == containers[-1]:
                containers.pop()
            elif re.match(rf"\{{(?!({_CODE})\}})", fence[2]):  # MyST: ```{note}
                containers.append(fence[1])
            else:
                while number < len(lines) and not lines[number].strip().startswith(fence[1]):
                    number += 1
                yield first, number
                number += 1
        elif _LITERAL.match(line):
            indent = _indent(line)
            while number < len(lines) and not (
                lines[number].strip() and _indent(lines[number]) <= indent
            ):
                number += 1
            yield first, number
        elif line.startswith("    ") and line.lstrip().startswith("#!"):  # without a fence
            while number < len(lines) and (not lines[number].strip() or _indent(lines[number]) > 3):
                number += 1
            yield first - 1, number


def _is_at_heading(lines: Sequence[str], number: int) -> bool:
    """Whether a line of ~ is below the text of a heading, or the first of two around it."""
    above, below = [*lines[max(0, number - 1) : number], ""][0], lines[number + 1 : number + 3]
    length = len(lines[number].rstrip())
    is_below = bool(above.strip()) and not above[0].isspace() and len(above.rstrip()) <= length
    return is_below or (len(below) == 2 and below[1] == lines[number])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
