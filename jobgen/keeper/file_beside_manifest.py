"""The keeper beside a manifest: its scripts name the file `.jobgen/keeper-HASH.py`, and carry none.

So a repository of many scripts has its text once. A script refuses a file with another hash.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re

from jobgen.keeper.carried import keeper_text

FOLDER = ".jobgen"
_NAME = re.compile(rb"keeper-[0-9a-f]{16}\.py")


def digits(text: str) -> str:
    """The digits of the keeper's hash that its file's name and its scripts have."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def keeper_paths(text: str, manifest: str) -> tuple[str, ...]:
    """Where a job finds the file: it is submitted in the manifest's folder, or in the script's.

    `manifest` is the path of the manifest from the script's folder.
    """
    name = f"{FOLDER}/keeper-{digits(text)}.py"
    return tuple(dict.fromkeys((name, os.path.join(os.path.dirname(manifest), name))))


@functools.cache
def keeper_files() -> dict[str, bytes]:
    """The files that scripts of this jobgen can name, with their texts."""
    texts = [keeper_text(lead, orders) for lead in (False, True) for orders in (False, True)]
    texts.append(keeper_text(False, False, hears_end=True))
    return {f"keeper-{digits(text)}.py": text.encode() for text in texts}


def named_files(script: bytes) -> frozenset[str]:
    """The names of the files that a script names, also those of another jobgen."""
    return frozenset(name.decode() for name in _NAME.findall(script))
