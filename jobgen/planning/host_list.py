"""The hosts of a job that is started by hand."""

import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from jobgen.bounds import HOST_BRACKETS, HOST_CHARACTERS, HOST_NAMES, HOSTS
from jobgen.errors import problem
from jobgen.paths import WORKING_FOLDER, is_file, is_outside, outside_error, to_path

_FILE_CHARACTERS = HOSTS * 256
_PART = re.compile(r"(?:[^,[]+|\[[^]]*]?)+")  # up to a comma outside brackets
# A name or an address, but no link-local address of IPv6 (fe80): other networks do not reach it.
_HOST = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*|(?!fe80)(?:[\da-f]{0,4}:){2,7}[\da-f]{0,4}", re.ASCII
)
# Parts of a hostfile of DeepSpeed or an MPI that are no hosts: comments, and numbers of ranks.
_SLOTS = re.compile(r"#.*|(?<=\s)(?:max[-_])?slots *= *\d+")
_RULE = "such as smc-r07-[07-08], a,b,c or a file of hosts that exists"


class Hosts(NamedTuple):
    """The names of hosts, and the different numbers of ranks that a file gives as `slots=N`."""

    names: tuple[str, ...] = ()
    slots: tuple[int, ...] = ()


NO_HOSTS = Hosts()


def read_hosts(text: str, within: Path = WORKING_FOLDER, confined: bool = False) -> Hosts:
    """Returns the hosts of `text`, in their order, each once.

    `text` is a file of hosts, separated by blanks or lines (such as a PBS_NODEFILE, or a hostfile,
    whose `slots=N` and `:N` are no hosts); or a list as Slurm prints it (smc-r07-[07-08]); or
    PBS's exec_host (a/0*4+b/0*4). A relative path begins in the folder `within`; with `confined`,
    the file may not be outside that folder. Raises JobgenError for any other text.
    """
    path = within / to_path(text)
    if confined and is_outside(path, within):  # a list of hosts, read as a path, is inside
        raise outside_error("--hosts", text, within)
    slots: list[str] = []
    if is_file(path):
        try:
            with path.open(encoding="utf-8-sig") as file:
                lines = file.read(_FILE_CHARACTERS)
            slots, words = re.findall(r"(?<=\sslots=)\d+", lines), _SLOTS.sub("", lines).split()
            words = [re.sub(r"^([^:]+):\d+$", r"\1", word) for word in words]
        except (OSError, UnicodeDecodeError) as error:
            raise problem("--hosts", f"{text:.80} cannot be read: {error}", "value") from None
    elif re.search(r"[/+(]", text):
        words = [re.split("[/:]", part.strip("() "))[0] for part in text.split("+")]
    elif re.search(r"\.(txt|lst|list|hosts|csv)$|^\./", text):
        raise problem("--hosts", f"there is no file {text!r:.80}", "value", _RULE)
    else:
        words = [text]
    hosts = tuple(expand(words))
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise problem("--hosts", f"{host!r:.80} is not a host name", "value", _RULE)
    if not hosts:
        raise problem("--hosts", f"no host in {text!r:.80}", "value", _RULE)
    return Hosts(hosts, tuple(map(int, dict.fromkeys(slots))))


def expand(words: Iterable[str]) -> dict[str, None]:
    """Returns the hosts of lists of hosts, each host once. Raises JobgenError for a wrong list."""
    hosts: dict[str, None] = {}
    remaining = HOST_NAMES
    for part in (part for word in words for part in _PART.findall(word)):
        remaining -= _count(part)
        if remaining < 0:
            raise problem("--hosts", f"more than {HOST_NAMES} names", "limit", "each host once")
        hosts |= dict.fromkeys(_names(part))
        if len(hosts) > HOSTS:
            raise problem("--hosts", f"more than {HOSTS} hosts", "limit")
    return hosts


def _names(part: str) -> list[str]:
    from hostlist import BadHostlist, expand_hostlist

    try:
        return list(expand_hostlist(part))
    except BadHostlist as error:
        raise problem("--hosts", f"{part!r:.80}: {error}", "value", _RULE) from None


def _count(part: str) -> int:
    """Returns how many names a part stands for, before python-hostlist makes all of them."""
    brackets = [each.split(",") for each in re.findall(r"\[([^]]*)", part)]
    if len(brackets) > HOST_BRACKETS:
        text = f"{part!r:.80} has {len(brackets)} pairs of brackets"
        raise problem("--hosts", text, "limit", f"at most {HOST_BRACKETS} in a name")
    ranges = [[each.split("-") for each in bracket] for bracket in brackets]
    length = len(re.sub(r"\[[^]]*]?", "", part))
    length += sum(max(len(n) for each in bracket for n in each) for bracket in ranges)
    if length > HOST_CHARACTERS:
        text = f"{part!r:.80}: a name of {length} characters"
        raise problem("--hosts", text, "limit", f"at most {HOST_CHARACTERS}")
    return math.prod(sum(map(_range_size, bracket)) for bracket in ranges)


def _range_size(numbers: list[str]) -> int:
    if len(numbers) == 2 and all(re.fullmatch("[0-9]+", each) for each in numbers):
        return max(int(numbers[1]) - int(numbers[0]) + 1, 1)
    return 1
