"""Reads the lines of a log that may be signs, in bounded memory.

Nearly all lines of a training's log differ in their numbers alone. So a block of bytes is split
into the lines' shapes, without digits and punctuation, and each shape is searched once for the
anchors, words without which no line is a sign.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import BinaryIO

# A sign's pattern contains one of them; they are rare in the log of a job that goes well.
ANCHORS = (
    *("error", "fail", "kill", "signal", "abort", "exception", "timeout", "timed out", "limit"),
    *("warn", "refused", "denied", "unable", "cannot", "can't", "could not", "not found"),
    *("no such", "no space", "memory", "jobgen:", "xid", "fatal", "invalid", "assert"),
    *("traceback", "lost", "segmentation", "exit", "preempt", "cancel", "mismatch", "duplicate"),
    *("quota", "unreachable", "closed", "reset", "corrupt", "smashing", "illegal", "segfault"),
    *("no module", "not compatible", "out_of_me", "unbound", "unknown", "not set", "forcing job"),
    *("interrupt", "inconsisten", "truncated", "preamble", "same model across", "not to match"),
    *("using the same gpu", "transport retry", "too old", "unsupported", "not enough", "filled"),
    *("ssh: connect", "pdsh@", "pbs_tmrsh", "primary job", "termination", "remote daemon", "dead"),
    *("ancdata", "too many", "got 0 bytes", "tried to launch", "requeue", "but not set", "stuck"),
    *("deadline", "watchdog", "step creation", "wrong type", "mixed local", "no usable", "no ip "),
    *("interface found", "no device found", "neither af_inet", "remote=[", "what appears to be"),
    *("conda environment", "sigsegv", "sigterm", "unexpected pos", "empty list", "fallen off"),
    "resource temporarily",
    *("errevent", "no gpus", "deserialize", "throwing", "trying to connect", "force terminated"),
    *("double free", "what():", "qsub: job", "has died"),
    *("(first observed",),  # torchrun's final report
    *("vendor err", "no route", "ss_family"),
)

BLOCK = 1 << 20
LONGEST_LINE = 1 << 16  # bytes; what is longer is read in pieces
SAMPLE = 1 << 16
LONGEST_SHAPE = 2000
SHAPES = 20_000  # shapes without an anchor that are remembered
_LOWER = bytes(range(256)).lower()
_DROPPED = b"0123456789.+-%#|=<>" + bytes(range(128, 256))
_ANCHORS = tuple(anchor.encode().translate(_LOWER, _DROPPED) for anchor in ANCHORS)
_ANY_ANCHOR = re.compile("|".join(map(re.escape, ANCHORS)).encode(), re.IGNORECASE)


class LineReader:
    """The lines of a stream that have an anchor, with their numbers, and those asked for after one.

    `count` is how many lines were read; `on_block` gets each block and how many were before it;
    `may_matter` is asked whether lines of a shape that has an anchor are wanted. An endless line
    comes in pieces with the same number.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._first = stream.read(BLOCK)
        self._wanted = 0  # up to this number, every line is yielded
        self._plain: set[bytes] = set()
        self.on_block: Callable[[bytes, int], None] = lambda block, lines: None
        self.may_matter: Callable[[bytes], bool] = lambda shape: True
        self.count = 0
        self._number = 0

    def follow(self, lines: int) -> None:
        """Yield so many lines after the present one, whatever is in them."""
        self._wanted = max(self._wanted, self._number + lines)

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        begun = b""  # of a line whose end was not read yet
        for data in self._blocks():
            complete, newline, rest = data.rpartition(b"\n")
            if newline:
                yield from self._lines(begun + complete)
                self.count += complete.count(b"\n") + 1
                begun = rest
            else:
                begun += rest
            if len(begun) > LONGEST_LINE:
                yield from self._lines(begun)
                begun = b""
        if begun:
            yield from self._lines(begun)
            self.count += 1

    @property
    def sample(self) -> list[bytes]:
        """The first lines."""
        return self._first[:SAMPLE].split(b"\n")

    def _blocks(self) -> Iterator[bytes]:
        block, self._first = self._first, b""
        while block:
            yield block
            block = self._stream.read(BLOCK)

    def _lines(self, block: bytes) -> Iterator[tuple[int, bytes]]:
        """The lines of a block that begins a line."""
        block = block.replace(b"\r\n", b"\n")
        self.on_block(block, self.count)
        hits = self._hits(block)
        if not hits and self.count >= self._wanted:
            return
        for index, line in enumerate(block.split(b"\n")):
            self._number = self.count + index + 1
            if index in hits or self._number <= self._wanted:
                yield self._number, _visible(line)

    def _hits(self, block: bytes) -> set[int]:
        """The indexes of the lines that have an anchor."""
        shapes = shape_of(block).split(b"\n")
        fresh = set(shapes) - self._plain
        if not fresh:
            return set()
        joined = b"\n".join(fresh)
        present = [anchor for anchor in _ANCHORS if anchor in joined]
        anchored = [shape for shape in fresh if any(anchor in shape for anchor in present)]
        found = {shape for shape in anchored if self._is_wanted(shape)}
        if len(self._plain) < SHAPES:
            self._plain |= fresh - found
        return {i for i, shape in enumerate(shapes) if shape in found} if found else set()

    def _is_wanted(self, shape: bytes) -> bool:
        return len(shape) > LONGEST_SHAPE or self.may_matter(shape)


def shape_of(text: bytes) -> bytes:
    """The text in lower case, without what differs between lines of one kind."""
    return text.translate(_LOWER, _DROPPED)


def _visible(line: bytes) -> bytes:
    """Of a line that was written over, the last piece with an anchor, or the last; cut if long."""
    if b"\r" in line:
        pieces = [piece for piece in line.split(b"\r") if piece.strip()]
        anchored = [piece for piece in pieces if _ANY_ANCHOR.search(piece)]
        line = (anchored or pieces or [b""])[-1]
    if len(line) > LONGEST_LINE:
        line = line[: LONGEST_LINE // 2] + b" ... " + line[-LONGEST_LINE // 2 :]
    return line
