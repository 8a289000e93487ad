"""The hosts of a job that is started by hand."""

from __future__ import annotations

import re
from pathlib import Path

from jobgen.errors import problem
from jobgen.paths import HERE, is_file, native

MOST = 1 << 15  # the largest clusters have some 16,000 nodes
MOST_LISTED = 1 << 20  # a PBS_NODEFILE has a line for each rank
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
    listed: list[str] = []
    for word in words:
        listed += _expanded(word)
        if len(listed) > MOST_LISTED:
            raise problem("--hosts", f"more than {MOST_LISTED} names", "limit", "each host once")
    found = tuple(dict.fromkeys(listed))
    if len(found) > MOST:
        raise problem("--hosts", f"more than {MOST} hosts", "limit")
    for host in found:
        if not _HOST.fullmatch(host):
            raise problem("--hosts", f"{host!r:.80} is no host's name", "value", _RULE)
    if not found:
        raise problem("--hosts", f"no host in {text!r:.80}", "value", _RULE)
    return found


_RULE = "such as smc-r07-[07-08], a,b,c or a file of hosts that is there"


def _expanded(word: str) -> list[str]:
    from hostlist import BadHostlist, expand_hostlist

    try:
        return list(expand_hostlist(word))
    except (BadHostlist, ValueError) as error:  # of a number with thousands of digits, the latter
        raise problem("--hosts", f"{word!r:.80}: {error}", "value", _RULE) from None
