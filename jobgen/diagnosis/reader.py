"""Reads the lines of a log that may be signs, in bounded memory.

Most lines of a training log differ only in their numbers. So the reader turns a block of bytes into
the shapes of its lines, without digits and punctuation, and asks only once for each shape whether
lines of this shape may matter.
"""

import re
from collections.abc import Callable, Iterator
from typing import Protocol

BLOCK = 1 << 20
LONGEST_LINE = 1 << 16  # bytes; a longer line is read in pieces
END = 8000  # bytes that may say how the job ended
SAMPLE = 1 << 16
LONGEST_SHAPE = 2000
SHAPES = 20_000  # how many shapes of lines that do not matter are remembered
_LOWER = bytes(range(256)).lower()
_FEW = 64  # skipped lines, of which even the last is skipped
BYTES_PER_ZERO = 1000  # a log has fewer zeros: those that torn writes leave
_LABEL = 120  # bytes at a line's beginning, in which its node and rank are
_NUMBERS = re.compile(rb"[Rr]ank ?\d+|^[A-Za-z][\w-]*\d")
GRAM = 4  # letters that each fixed text has at least
# Of letters in UTF-8 that ASCII does not have, the first byte stays; of bars and dots, nothing.
_DROPPED = b"0123456789.+-%#|=<>\xe2" + bytes(range(128, 195))


class Readable(Protocol):
    """A stream of bytes; at its end, it returns none."""

    def read(self, size: int, /) -> bytes:
        """The next bytes, at most so many."""


class LineReader:
    """The lines of a stream that may matter, with their numbers, and the lines that `follow` wants.

    `shown` removes text that must not be read. `count` is how many lines were read; `on_block` gets
    each block and the number of lines before it; `may_matter` says whether lines of a shape are
    wanted. While `watches_others`, the other lines and their shapes go to `on_other`, which says
    whether it wants more of them. An endless line comes in pieces with the same number.
    """

    def __init__(self, stream: Readable, shown: Callable[[bytes], bytes] = bytes) -> None:
        self._stream = stream
        self._shown = shown
        self._first = stream.read(BLOCK)
        self._wanted = 0  # up to this number, every line is yielded
        self._plain: set[bytes] = set()
        self.on_block: Callable[[bytes, int], None] = lambda block, lines: None
        self.may_matter: Callable[[bytes], bool] = lambda shape: True
        self.on_other: Callable[[bytes, bytes], bool] = lambda shape, line: False
        self.watches_others = False
        self.count = 0
        self.before = b""  # the line before the current one
        self.end = b""  # the last lines
        self.end_size = END
        self._begun = b""  # the beginning of a line whose end was not read yet
        self._last_line = b""  # of the block before
        self._skipped: set[object] = set()  # lines whose like were read often enough
        self._zeros = self._bytes = 0
        self._current: object = None
        self._number = 0

    def follow(self, lines: int) -> None:
        """Make the reader yield so many lines after the current line, whatever is in them."""
        self._wanted = max(self._wanted, self._number + lines)

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        yield from self.whole_lines()
        if self._begun:
            yield from self._lines(self._begun)
            self.count += 1

    def whole_lines(self) -> Iterator[tuple[int, bytes]]:
        """The lines without one that has no end yet; when the stream has grown, those behind it."""
        for data in self._blocks():
            complete, newline, rest = data.rpartition(b"\n")
            if newline:
                yield from self._lines(self._begun + complete)
                self.count += complete.count(b"\n") + 1
                self._begun = rest
            else:
                self._begun += rest
            if len(self._begun) > LONGEST_LINE:
                yield from self._lines(self._begun)
                self._begun = b""

    def _blocks(self) -> Iterator[bytes]:
        first, self._first = self._first, b""  # a file that is followed stays open for days
        if first:
            yield first
        yield from iter(lambda: self._stream.read(BLOCK), b"")

    @property
    def sample(self) -> list[bytes]:
        """The first lines of the stream, before any is read."""
        return self._shown(self._first[:SAMPLE]).split(b"\n")

    @property
    def lacks(self) -> str:
        """What the stream lacks to be a log; "" if nothing."""
        if not (self.count or self._begun):
            return "is empty"
        return "is no text" if self._zeros * BYTES_PER_ZERO > self._bytes else ""

    def _lines(self, block: bytes) -> Iterator[tuple[int, bytes]]:
        """The wanted lines of a block that starts at the beginning of a line."""
        block = self._shown(block.replace(b"\r\n", b"\n"))
        self.on_block(block, self.count)
        self.end = (self.end + b"\n" + block[-self.end_size :])[-self.end_size :]
        self._zeros += block.count(b"\0")
        self._bytes += len(block)
        last, self._last_line = self._last_line, block.rpartition(b"\n")[2]
        shapes = shape_of(block).split(b"\n")
        hits = self._hits(shapes)
        if not hits and self.count >= self._wanted and not self.watches_others:
            return
        skipped: list[tuple[int, bytes]] = []
        lines = block.split(b"\n")
        for index, line in enumerate(lines):
            self._number = self.count + index + 1
            self.before = lines[index - 1] if index else last
            if self._number <= self._wanted:
                yield self._number, self._visible(line)
            elif index in hits:
                self._current = (shapes[index], *_NUMBERS.findall(line, 0, _LABEL))
                if self._current in self._skipped:
                    skipped.append((self._number, line))
                    continue
                if len(skipped) >= _FEW:
                    yield from self._last(skipped)
                yield self._number, self._visible(line)
            elif self.watches_others:
                self.watches_others = self.on_other(shapes[index], line)
        yield from self._last(skipped)

    def _last(self, skipped: list[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        """The last of the lines that were skipped, which shows where a failure ends."""
        for number, line in skipped[-1:]:
            yield number, self._visible(line)
        skipped.clear()

    def skip_alike(self) -> None:
        """Skip lines of the current line's shape and label, but for the last of many."""
        if len(self._skipped) < SHAPES:
            self._skipped.add(self._current)

    def skip_nothing(self) -> None:
        """Skip no lines any more."""
        self._skipped.clear()

    def _hits(self, shapes: list[bytes]) -> set[int]:
        """The indexes of the lines that may matter, by the lines' shapes."""
        fresh = set(shapes) - self._plain
        found = {shape for shape in fresh if self._is_wanted(shape)}
        if len(self._plain) < SHAPES:
            self._plain |= fresh - found
        return {i for i, shape in enumerate(shapes) if shape in found} if found else set()

    def _is_wanted(self, shape: bytes) -> bool:
        return len(shape) > LONGEST_SHAPE or self.may_matter(shape)

    def _visible(self, line: bytes) -> bytes:
        """A line, cut if too long; of an overwritten line, the last piece that may matter."""
        if b"\r" in line:
            pieces = [piece for piece in line.split(b"\r") if piece.strip()]
            wanted = {shape for shape in set(map(shape_of, pieces)) if self._is_wanted(shape)}
            telling = [piece for piece in pieces if shape_of(piece) in wanted]
            line = (telling or pieces or [b""])[-1]
        if len(line) > LONGEST_LINE:
            line = line[: LONGEST_LINE // 2] + b" ... " + line[-LONGEST_LINE // 2 :]
        return line


def grams(shape: str) -> set[str]:
    """All parts of a shape that have GRAM letters."""
    return {shape[i : i + GRAM] for i in range(len(shape) - GRAM + 1)}


def shape_of(text: bytes) -> bytes:
    """The text in lower case, without characters that differ between lines of one kind."""
    return text.translate(_LOWER, _DROPPED)
