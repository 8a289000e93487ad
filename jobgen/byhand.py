"""The hosts of a job that is started by hand."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from pathlib import Path

from jobgen.errors import problem
from jobgen.paths import HERE, is_file, native

MOST = 1 << 15  # the largest clusters have some 16,000 nodes
MOST_LISTED = 1 << 20  # a PBS_NODEFILE has a line for each rank
LONGEST = 255  # characters of a name, as DNS has it
MOST_BRACKETS = 8  # in a name; Slurm prints one for each dimension of the network
_PART = re.compile(r"(?:[^,[]+|\[[^]]*]?)+")  # up to a comma outside of brackets
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)


def hosts(text: str, within: Path = HERE) -> tuple[str, ...]:
    """The hosts of `text`, in their order, each once.

    A file of them, blanks or lines apart (such as a PBS_NODEFILE); a list as Slurm prints it
    (smc-r07-[07-08]); or PBS's exec_host (a/0*4+b/0*4). A file's path counts from the folder
    `within`. Raises JobgenError if it is none of these.
    """
    path = within / native(text)
    if is_file(path):
        try:
            with path.open(encoding="utf-8-sig") as file:
                words = file.read(MOST * 256).split()
        except (OSError, UnicodeDecodeError) as error:
            raise problem("--hosts", f"{text:.80} cannot be read: {error}", "value") from None
    elif re.search(r"[/+(]", text):
        words = [re.split("[/:]", part.strip("() "))[0] for part in text.split("+")]
    else:
        words = [text]
    found = tuple(expanded(words))
    for host in found:
        if not _HOST.fullmatch(host):
            raise problem("--hosts", f"{host!r:.80} is no host's name", "value", _RULE)
    if not found:
        raise problem("--hosts", f"no host in {text!r:.80}", "value", _RULE)
    return found


_RULE = "such as smc-r07-[07-08], a,b,c or a file of hosts that is there"


def expanded(words: Iterable[str]) -> dict[str, None]:
    """The hosts that lists of them stand for, each once. Raises JobgenError."""
    found: dict[str, None] = {}
    left = MOST_LISTED
    for part in (part for word in words for part in _PART.findall(word)):
        left -= _count(part)
        if left < 0:
            raise problem("--hosts", f"more than {MOST_LISTED} names", "limit", "each host once")
        found |= dict.fromkeys(_names(part))
        if len(found) > MOST:
            raise problem("--hosts", f"more than {MOST} hosts", "limit")
    return found


def _names(part: str) -> list[str]:
    from hostlist import BadHostlist, expand_hostlist

    try:
        return list(expand_hostlist(part))
    except BadHostlist as error:
        raise problem("--hosts", f"{part!r:.80}: {error}", "value", _RULE) from None


def _count(part: str) -> int:
    """How many names a part stands for, before they are made: hostlist looks when they are."""
    inside = [each.split(",") for each in re.findall(r"\[([^]]*)", part)]
    if len(inside) > MOST_BRACKETS:
        text = f"{part!r:.80} has {len(inside)} pairs of brackets"
        raise problem("--hosts", text, "limit", f"at most {MOST_BRACKETS} in a name")
    numbers = [[each.split("-") for each in ranges] for ranges in inside]
    length = len(re.sub(r"\[[^]]*]?", "", part))
    length += sum(max(len(n) for each in ranges for n in each) for ranges in numbers)
    if length > LONGEST:
        text = f"{part!r:.80}: a name of {length} characters"
        raise problem("--hosts", text, "limit", f"at most {LONGEST}")
    return math.prod(sum(map(_size, ranges)) for ranges in numbers)


def _size(numbers: list[str]) -> int:
    if len(numbers) == 2 and all(re.fullmatch("[0-9]+", each) for each in numbers):
        return max(int(numbers[1]) - int(numbers[0]) + 1, 1)
    return 1
