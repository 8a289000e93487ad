"""A page as a tree, from a strict reader: it takes no element that is not closed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"meta"}


@dataclass
class Element:
    """An element; `parts` are its texts and elements in order."""

    name: str
    attributes: dict[str, str]
    parts: list[str | Element] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text in it."""
        return "".join(part if isinstance(part, str) else part.text for part in self.parts)

    def all(self, name: str = "", **attributes: str) -> Iterator[Element]:
        """The elements below it of a name, with a word in each of some attributes."""
        for part in self.parts:
            if isinstance(part, Element):
                words = {k: part.attributes.get(k.rstrip("_"), "").split() for k in attributes}
                if name in ("", part.name) and all(v in words[k] for k, v in attributes.items()):
                    yield part
                yield from part.all(name, **attributes)

    def first(self, name: str = "", **attributes: str) -> Element:
        """The first of them."""
        return next(self.all(name, **attributes))


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({key for key, _ in attrs}) == len(attrs), attrs
        element = Element(tag, {key: value or "" for key, value in attrs})
        self.open[-1].parts.append(element)
        if tag not in _VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().name == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_data(self, data: str) -> None:
        self.open[-1].parts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def page_of(html: str) -> Element:
    """The tree of a whole page, every element of which is closed."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    (root,) = reader.open
    return root


def rows_of(table: Element) -> list[list[str]]:
    """The texts of a table's cells, the headings first."""
    return [
        [cell.text for cell in row.parts if isinstance(cell, Element)] for row in table.all("tr")
    ]


def table_with(page: Element, caption: str) -> list[list[str]]:
    """The rows of the table whose caption begins so."""
    tables = (t for t in page.all("table") if t.first("caption").text.startswith(caption))
    return rows_of(next(tables))


def cells_of(path: str) -> set[tuple[int, int]]:
    """The cells (row, column) that a path of a heat map covers."""
    cells, x, y = set(), 0, 0
    for command, first, second in re.findall(r"([Mmh])(\d+)(?: (\d+))?", path):
        if command == "h":
            cells |= {(y, x + i) for i in range(int(first))}
            x += int(first)
        else:
            x, y = (int(first), int(second)) if command == "M" else (x + int(first), y)
    return cells
