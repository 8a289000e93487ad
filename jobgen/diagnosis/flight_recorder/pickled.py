"""Reads a pickle that holds plain data only: nothing in it can name or call a class.

`pickle.Unpickler` would run what a hostile file says. This reader knows only the opcodes that build
numbers, text, lists, tuples and maps, which is all that torch writes into a dump; any other opcode
ends it. The opcodes are in CPython's Lib/pickletools.py, what torch writes in
torch/csrc/jit/serialization/pickler.cpp.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from jobgen.limits import DUMP_STEPS

_MOST_NUMBER_BYTES = 16
_MARK = object()


class NotPlain(ValueError):
    """The bytes are no pickle of plain data: damaged, or they ask for a class or a call."""


def plain_value(data: bytes) -> Any:
    """The value in a pickle; NotPlain where it is more than numbers, text, lists and maps."""
    try:
        return _Reader(data).value()
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, struct.error) as error:
        raise error if isinstance(error, NotPlain) else NotPlain("it is damaged") from error


class _Reader:
    """The state of one reading: the place in the bytes, the stack, and the values by number."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0
        self.stack: list[Any] = []
        self.numbered: dict[int, Any] = {}

    def value(self) -> Any:
        data, steps = self.data, _STEPS
        for _ in range(DUMP_STEPS):
            opcode = data[self.place]
            self.place += 1
            if opcode == 0x2E:  # STOP
                return self.stack.pop()
            if opcode not in steps:
                raise NotPlain(f"it asks for more than plain data (opcode 0x{opcode:02x})")
            steps[opcode](self)
        raise NotPlain(f"it has more than {DUMP_STEPS} steps")

    def number(self, form: struct.Struct) -> Any:
        place = self.place
        self.place += form.size
        return form.unpack_from(self.data, place)[0]

    def bytes(self, count: int) -> bytes:
        piece = self.data[self.place : self.place + count]
        if len(piece) < count:
            raise NotPlain("it ends too early")
        self.place += count
        return piece

    def pop(self, count: int) -> list[Any]:
        values = self.stack[-count:]
        del self.stack[-count:]
        if len(values) < count:
            raise NotPlain("it is damaged")
        return values

    def since_mark(self) -> list[Any]:
        values = []
        while (value := self.stack.pop()) is not _MARK:
            values.append(value)
        return values[::-1]

    def long_number(self) -> None:
        count = self.number(_BYTE)
        if count > _MOST_NUMBER_BYTES:
            raise NotPlain(f"it has a number of {count} bytes")
        self.stack.append(int.from_bytes(self.bytes(count), "little", signed=True))

    def memoize(self) -> None:
        self.numbered[len(self.numbered)] = self.stack[-1]

    def extend(self, values: list[Any]) -> None:
        target = self.stack[-1]
        if not isinstance(target, list):
            raise NotPlain("it is damaged")
        target.extend(values)

    def update(self, values: list[Any]) -> None:
        target, keys = self.stack[-1], values[::2]
        # A key of nested tuples would make Python's hash() run out of its stack.
        if not isinstance(target, dict) or not all(isinstance(key, (str, int)) for key in keys):
            raise NotPlain("it is damaged")
        target.update(zip(keys, values[1::2], strict=True))


_BYTE, _SHORT, _INT = struct.Struct("<B"), struct.Struct("<H"), struct.Struct("<I")
_SIGNED, _LONG, _FLOAT = struct.Struct("<i"), struct.Struct("<Q"), struct.Struct(">d")

_Step = Callable[[_Reader], None]


def _constant(value: object) -> _Step:
    return lambda reader: reader.stack.append(value)


def _number(form: struct.Struct) -> _Step:
    return lambda reader: reader.stack.append(reader.number(form))


def _text(length: struct.Struct) -> _Step:
    return lambda reader: reader.stack.append(reader.bytes(reader.number(length)).decode())


def _put(form: struct.Struct) -> _Step:
    def step(reader: _Reader) -> None:
        reader.numbered[reader.number(form)] = reader.stack[-1]

    return step


def _get(form: struct.Struct) -> _Step:
    return lambda reader: reader.stack.append(reader.numbered[reader.number(form)])


def _new(kind: Callable[[], object]) -> _Step:
    return lambda reader: reader.stack.append(kind())


def _tuple(count: int) -> _Step:
    return lambda reader: reader.stack.append(tuple(reader.pop(count)))


def _skip(form: struct.Struct) -> _Step:
    def step(reader: _Reader) -> None:
        reader.number(form)

    return step


_STEPS: dict[int, _Step] = {
    0x80: _skip(_BYTE),  # PROTO
    0x95: _skip(_LONG),  # FRAME, which only helps a reader of streams
    ord("N"): _constant(None),
    0x88: _constant(True),
    0x89: _constant(False),
    ord("K"): _number(_BYTE),
    ord("M"): _number(_SHORT),
    ord("J"): _number(_SIGNED),
    ord("G"): _number(_FLOAT),
    0x8A: _Reader.long_number,
    ord("X"): _text(_INT),
    0x8C: _text(_BYTE),
    0x8D: _text(_LONG),
    ord("q"): _put(_BYTE),
    ord("r"): _put(_INT),
    0x94: _Reader.memoize,
    ord("h"): _get(_BYTE),
    ord("j"): _get(_INT),
    ord("}"): _new(dict),
    ord("]"): _new(list),
    ord(")"): _new(tuple),
    ord("("): _constant(_MARK),
    0x85: _tuple(1),
    0x86: _tuple(2),
    0x87: _tuple(3),
    ord("t"): lambda reader: reader.stack.append(tuple(reader.since_mark())),
    ord("a"): lambda reader: reader.extend(reader.pop(1)),
    ord("e"): lambda reader: reader.extend(reader.since_mark()),
    ord("s"): lambda reader: reader.update(reader.pop(2)),
    ord("u"): lambda reader: reader.update(reader.since_mark()),
}
