"""Values of an untrusted JSON file, each of which knows its place for the message of an error."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

from jobgen.errors import JobgenError, printable, problem

# A damaged or hostile file takes neither all memory nor hours; that of 512 nodes has four million
# bytes and 6,000 lists.
MOST_BYTES = 64_000_000
MOST_LISTS = 1_200_000  # lists and maps of a file, and values of a list
MOST_CHARACTERS = 6_000  # of a text
HINT = "give the .json file that `jobgen doctor` wrote, whole and unchanged"
_CODE = "doctor-results"
_LARGEST = 1e15  # no measure comes near it, and no product of two such numbers is infinite
_DIGITS = 20
_KINDS = {dict: "a map", list: "a list", str: "text", bool: "true or false", type(None): "null"}


class Value(NamedTuple):
    """A value, the file that has it, and its place there, such as nodes[3].values."""

    file: str
    place: str
    raw: Any

    def wrong(self, text: str, hint: str = HINT) -> JobgenError:
        """The error that names the file, the place and what is wrong."""
        return problem(self.file, f"{self.place}: {text}" if self.place else text, _CODE, hint)

    def _is_not(self, expected: str) -> JobgenError:
        kind = _KINDS.get(type(self.raw)) or f"the number {self.raw}"
        return self.wrong(f"is {kind}, not {expected}")

    def field(self, key: str) -> Value:
        """The value of a key that must be present."""
        if key not in self._map():
            raise self.wrong(f"has no `{key}`")
        return self._below(key, self.raw[key])

    def optional(self, key: str, default: Any = None) -> Value:
        """The value of a key that may be absent or null: it has the default's value then."""
        raw = self._map().get(key)
        return self._below(key, default if raw is None else raw)

    def fields(self) -> Iterator[tuple[str, Value]]:
        """The keys of a map, with their values."""
        for key, raw in self._map().items():
            yield Value(self.file, f"{self.place} (a key)", key).text(), self._below(key, raw)

    def _map(self) -> dict[str, Any]:
        if not isinstance(self.raw, dict):
            raise self._is_not("a map")
        return self.raw

    def _below(self, key: str, raw: Any) -> Value:
        return Value(self.file, f"{self.place}.{key}" if self.place else key, raw)

    def items(self, at_most: int = MOST_LISTS) -> list[Value]:
        """The values of a list."""
        if not isinstance(self.raw, list):
            raise self._is_not("a list")
        if len(self.raw) > at_most:
            raise self.wrong(f"has {len(self.raw)} values, more than {at_most}")
        return [Value(self.file, f"{self.place}[{i}]", raw) for i, raw in enumerate(self.raw)]

    def text(self, at_most: int = MOST_CHARACTERS) -> str:
        """A text, with escapes for what cannot be seen or encoded."""
        if not isinstance(self.raw, str):
            raise self._is_not("text")
        if len(self.raw) > at_most:
            raise self.wrong(f"has {len(self.raw)} characters, more than {at_most}")
        return printable(self.raw.expandtabs())

    def flag(self) -> bool:
        """true or false."""
        if not isinstance(self.raw, bool):
            raise self._is_not("true or false")
        return self.raw

    def number(self, least: float = 0) -> float:
        """A finite number that something measured may have."""
        if not isinstance(self.raw, (int, float)) or isinstance(self.raw, bool):
            raise self._is_not("a number")
        if not least <= self.raw <= _LARGEST:
            raise self._is_not(f"from {least:g} to {_LARGEST:g}")
        return float(self.raw)

    def number_or_none(self, least: float = 0) -> float | None:
        """A number, or None for null."""
        return None if self.raw is None else self.number(least)


def read_json(path: str) -> Value:
    """What a JSON file holds; JobgenError where it cannot be read, or is damaged or huge."""
    data = _bytes_of(path)
    try:
        if data.count(b"[") + data.count(b"{") > MOST_LISTS:
            raise ValueError(f"it has more than {MOST_LISTS} lists and maps")
        raw = json.loads(data, parse_constant=_not_finite, parse_int=_whole_number)
    except RecursionError:
        raise _damaged(path, "it is nested too deep") from None
    except UnicodeDecodeError:
        raise _damaged(path, "it is not UTF-8 text") from None
    except ValueError as error:
        raise _damaged(path, str(error)) from None
    return Value(path, "", raw)


def _bytes_of(path: str) -> bytes:
    try:
        with open(path, "rb", opener=_opened_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise problem(path, "is not a regular file", "unreadable", HINT)
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: no file has a NUL in its name
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise problem(path, f"cannot be read: {reason}", "unreadable", HINT) from None
    if len(data) > MOST_BYTES:
        raise problem(path, f"has more than {MOST_BYTES} bytes", _CODE, HINT)
    return data


def _opened_at_once(path: str, flags: int) -> int:
    """A pipe without a writer would be waited for."""
    return os.open(path, flags | os.O_NONBLOCK)


def _damaged(path: str, reason: str) -> JobgenError:
    return problem(path, f"is not JSON that jobgen can read: {reason}", _CODE, HINT)


def _not_finite(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a finite number")


def _whole_number(digits: str) -> int:
    """Python takes the square of the count of digits, or refuses them with advice for programs."""
    if len(digits) > _DIGITS:
        raise ValueError(f"a number has {len(digits)} digits")
    return int(digits)
