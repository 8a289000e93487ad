"""One rank's dump of torch's flight recorder: its operations in each process group, in order.

The fields are those of torch/csrc/distributed/c10d/FlightRecorderDetail.hpp (versions 2.0 to 2.10).
A file may be old, cut off or hostile, so that a field counts only if it has the form that torch
writes.
"""

import json
import math
import pickle
import re
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn

from jobgen.bounds import DUMP_BYTES, PARSE_MEMORY, PARSE_SECONDS
from jobgen.errors import JobgenError
from jobgen.untrusted_input import ends_within_bounds

_RANK_IN_NAME = re.compile(r"(\d{1,7})(?:\.(?:pkl|pickle|json|bin|dump|trace))?$")
# The exceptions that a damaged pickle raises, besides ValueError.
_DAMAGED = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, TypeError),
    pickle.UnpicklingError,
)


class NotPlain(ValueError):
    """Raised for a file that is no dump; the text says why."""


class _PlainUnpickler(pickle.Unpickler):
    """Builds only numbers, text, lists and maps: without classes, a pickle can call nothing."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise NotPlain("it asks for more than plain data")


@dataclass(frozen=True)
class Operation:
    """An operation that a rank put into a process group; `number` is its number there."""

    group: str
    number: int
    name: str  # "all_reduce", or "send 0->1" with the ranks' numbers in the group
    elements: int
    dtypes: tuple[str, ...]
    ended: bool
    started: bool
    pair: bool  # send or recv, which torch numbers separately
    created: int  # nanoseconds since 1970
    where: str  # "train.py:18 step", the innermost line outside torch; "" without a stack


@dataclass(frozen=True)
class Dump:
    """What one rank had recorded; `members` has the ranks of each group that the dump lists."""

    rank: int
    path: str
    operations: tuple[Operation, ...]
    members: dict[str, tuple[int, ...]]
    titles: dict[str, str]  # "default_pg", "mesh_dp" …, by the group's name
    is_full: bool  # whether newer operations have replaced the oldest ones


def read_dump(path: str) -> Dump:
    """A rank's dump. Raises JobgenError if the file is no dump, or has more than plain data."""
    try:
        found = _RANK_IN_NAME.search(Path(path).name)  # torch writes the rank nowhere else
        if not found:
            raise NotPlain("its name does not end with its rank, as in nccl_trace_rank_5")
        with open(path, "rb") as file:
            data = file.read(DUMP_BYTES + 1)
        if len(data) > DUMP_BYTES:
            raise NotPlain(f"it has more than {DUMP_BYTES} bytes")
        rank = int(found[1])
        if not ends_within_bounds(_dump, rank, path, data):
            raise NotPlain(f"it takes more than {PARSE_SECONDS} s or {PARSE_MEMORY >> 30} GiB")
        return _dump(rank, path, data)
    except (ValueError, *_DAMAGED) as error:
        reason = str(error) if isinstance(error, NotPlain) else "it is damaged"
        raise JobgenError(f"{path}: no dump of torch's flight recorder: {reason}") from error
    except OSError as error:
        raise JobgenError(f"{path}: {error.strerror}") from error


def _dump(rank: int, path: str, data: bytes) -> Dump:
    is_pickle = data[:1] == b"\x80"
    value = _PlainUnpickler(BytesIO(data)).load() if is_pickle else json.loads(data)
    if not isinstance(value, dict) or not ("entries" in value or "pg_config" in value):
        raise NotPlain("it has no entries")
    entries = [entry for entry in _list(value.get("entries")) if isinstance(entry, dict)]
    operations = tuple(op for entry in entries if (op := _operation(entry)))
    groups = value.get("pg_config")
    groups = groups if isinstance(groups, dict) else {}
    described = {str(n): g for n, g in groups.items() if isinstance(g, dict)}
    return Dump(
        rank,
        path,
        operations,
        {name: ranks for name, group in described.items() if (ranks := _ranks(group.get("ranks")))},
        dict(title for entry in entries if (title := _group(entry))[0]),
        bool(entries) and _whole(entries[0].get("record_id")) > 0,
    )


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _text(value: Any) -> str:
    """At most 200 characters of a text, with ? for characters that cannot be printed."""
    text = value[:200] if isinstance(value, str) else ""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value < 2**63 else 0


def _ranks(value: Any) -> tuple[int, ...]:
    """The ranks in a text as torch writes it: "[0, 1, 2]"."""
    numbers = re.findall(r"\b\d{1,7}\b", value) if isinstance(value, str) else []
    return tuple(sorted({int(number) for number in numbers}))


def _group(entry: dict[Any, Any]) -> tuple[str, str]:
    name, title, *_ = [*_list(entry.get("process_group")), "", ""]
    return _text(name), _text(title)


def _operation(entry: dict[Any, Any]) -> Operation | None:
    backend, _, name = _text(entry.get("profiling_name")).rpartition(":")
    group, _ = _group(entry)
    if not name or not group:
        return None
    pair = entry.get("is_p2p") is True
    # gloo's entries stay "scheduled": only `retired` shows that an operation is over.
    retired = backend == "gloo" and entry.get("retired") is True
    shapes = [_list(shape)[:16] for shape in _list(entry.get("input_sizes"))[:4000]]
    return Operation(
        group,
        _whole(entry.get("p2p_seq_id" if pair else "collective_seq_id")),
        name,
        sum(math.prod(map(_whole, shape)) for shape in shapes),
        tuple(_text(dtype) for dtype in _list(entry.get("input_dtypes"))[:64]),
        entry.get("state") == "completed" or retired,
        entry.get("state") == "started",
        pair,
        _whole(entry.get("time_created_ns")),
        _where(entry.get("frames")),
    )


def _where(frames: Any) -> str:
    """The innermost line of the user's program; `frames` begin with the innermost frame."""
    for frame in _list(frames)[:200]:
        path = _text(frame.get("filename")) if isinstance(frame, dict) else ""
        if path and "/torch/" not in path and not path.startswith("<"):
            return (
                f"{path.rpartition('/')[2]}:{_whole(frame.get('line'))} {_text(frame.get('name'))}"
            )
    return ""
