"""Text of docstrings and helps as Markdown: every character stays as it is, names become code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# In the text of an option or a docstring, these are code:
_VALUE = r"""=(?:'[^'`]*'|"[^"`]*"|[^\s,;)`'"]*[^\s,;:.)`'"])"""  # of an assignment
_NAMES = (
    rf"(?:-[A-Za-z]|--[a-z][\w-]*)\ [\w.]+{_VALUE}",  # -e NAME=VALUE
    rf"--[a-z][\w-]*(?:{_VALUE}|…)?",
    r"-[A-Za-z](?![\w-])",
    r"\$\w+",
    r"[A-Za-z_][\w.]*[._]\w+\((?:[^\s()`]|\([^\s()`]*\))*\)",  # a call of a function
    r"[a-z][\w.-]*\([1-8][A-Z]?\)",  # a manual page
    # A file.
    r"[\w.-]+(?:/[\w.-]+)*[/_][\w-]+\.(?:c|cc|h|py|cpp|cu|in|yaml|toml|md|rst|log|sh|sbatch)\b",
    rf"\w*[A-Za-z]\w*_\w*(?:{_VALUE}|…|(?<=\w)\b)",  # no sentence has a word with _
)
_PIECE = re.compile(
    r"(?P<code>`[^`]+`)"
    r"|(?P<link>https?://[\w-]+\.[^\s<>()]*[^\s<>().,;:])"
    rf"|(?P<name>(?<![\w/.:-])(?:{'|'.join(_NAMES)}))"
)
_SPECIAL = {
    **{letter: f"\\{letter}" for letter in "\\`*_{}[]#"},
    "<": "&lt;",
    ">": "&gt;",
    "&": "&amp;",
}
_LABEL = re.compile(r"(Evidence|Cure|The cure|What misleads|Sources|Usual reasons|Not this): ?")


def inline(text: str) -> str:
    """A sentence as Markdown; what is in backticks there is code here, too."""
    parts, end = [], 0
    for found in _PIECE.finditer(text):
        parts.append(_escaped(text[end : found.start()]))
        parts.append(_code_or_link(found))
        end = found.end()
    return "".join([*parts, _escaped(text[end:])])


def _escaped(text: str) -> str:
    return "".join(_SPECIAL.get(letter, letter) for letter in text)


def _code_or_link(found: re.Match[str]) -> str:
    if found["link"]:
        return f"<{found[0]}>"
    return found[0] if found["code"] else f"`{found[0]}`"


def prose(text: str) -> str:
    """The paragraphs of a docstring; a list of sources has one source a line."""
    return "\n\n".join(_paragraph(part.split("\n")) for part in text.strip().split("\n\n"))


def _paragraph(lines: Sequence[str]) -> str:
    if lines[0].startswith("Sources:"):
        rest = [line for line in [lines[0].removeprefix("Sources:").strip(), *lines[1:]] if line]
        return "**Sources:**\n\n" + bullets(rest)
    if lines[0].startswith("- "):
        return bullets(item.removeprefix("- ") for item in " ".join(lines).split(" - "))
    text = " ".join(line.strip() for line in lines)
    if label := _LABEL.match(text):
        return f"**{label[1]}:** {inline(text[label.end() :])}"
    return inline(text)


def bullets(items: Iterable[str]) -> str:
    """A list, with an item for each text."""
    return "\n".join(f"- {inline(item)}" for item in items)


def code(text: str) -> str:
    """Code in a sentence or a cell, whatever backticks are in it."""
    if "`" not in text:
        return f"`{text}`"
    marks = "`" * (1 + max(map(len, re.findall("`+", text))))
    return f"{marks} {text} {marks}"


def fence(text: str, language: str = "text", title: str = "") -> str:
    """A block of code that shows `text`, whatever is in it; a message is wrapped."""
    marks = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    head = "{.text .message}" if language == "message" else language
    head += f' title="{title}"' if title else ""
    return f"{marks}{head}\n{text.rstrip()}\n{marks}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells in Markdown, whose code may have a |."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def page(title: str, *parts: str, description: str = "") -> str:
    """A page with its title; empty parts are left out."""
    head = f"---\ndescription: {_quoted(description)}\n---\n\n" if description else ""
    return head + "\n\n".join([f"# {inline(title)}", *filter(None, parts)]) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
