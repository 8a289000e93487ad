"""The blocks of code in a page of Markdown, and what the tests do with each.

<!-- file: NAME -->        the block below is a file
<!-- run: COMMAND -->      the block below is what the command writes to stdout
<!-- not run: REASON -->   the block below cannot be run by these tests, or only shows a form

A block without a mark is an indented one with commands. The tests run them, unless a `run` mark
comes next: then they are the first words of its command, and the block below has the output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MARK = re.compile(r"<!-- (run|file|not run): (.*?) -->")


@dataclass
class Block:
    """A block: its mark's kind and words, its language ("" if it is indented), and its text."""

    kind: str
    words: str
    language: str
    content: str
    line: int
    next_mark: str = ""

    @property
    def commands(self) -> str:
        """The text without the indentation."""
        return re.sub(r"^    ", "", self.content, flags=re.MULTILINE)

    @property
    def markdown(self) -> str:
        """The block as it is in the page."""
        mark = f"<!-- {self.kind}: {self.words} -->\n" if self.kind else ""
        fences = (f"```{self.language}\n", "```\n") if self.language else ("", "")
        return f"{mark}{fences[0]}{self.content}{fences[1]}"


def parts_of(page: str) -> Iterator[str | Block]:
    """The page in parts that give it again: its blocks, and the text between them."""
    lines, at, is_new = page.splitlines(keepends=True), 0, True
    while at < len(lines):
        mark = MARK.match(lines[at])
        start = at + bool(mark)
        end = _end_of_block(lines, start) if mark or is_new else start
        if end == start:
            yield lines[at]
            is_new, at = lines[at] == "\n" or lines[at].startswith("<!--"), at + 1
            continue
        yield _block(lines, start, end, mark)
        at = end


def _end_of_block(lines: list[str], start: int) -> int:
    """The line after the block that begins on a line; that line itself if none begins there."""
    first = lines[start] if start < len(lines) else ""
    if first.startswith("```"):
        return next(at for at in range(start + 1, len(lines)) if lines[at] == "```\n") + 1
    end = start
    while end < len(lines) and lines[end].startswith("    "):
        end += 1
    return end


def _block(lines: list[str], start: int, end: int, mark: re.Match[str] | None) -> Block:
    fenced = lines[start].startswith("```")
    content = "".join(lines[start + 1 : end - 1] if fenced else lines[start:end])
    following = next((line for line in lines[end:] if line.strip()), "")
    next_mark = MARK.match(following)
    return Block(
        mark[1] if mark else "",
        mark[2] if mark else "",
        lines[start][3:].strip() if fenced else "",
        content,
        start + 1,
        next_mark[2] if next_mark and next_mark[1] == "run" else "",
    )
