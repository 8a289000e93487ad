"""One text of the programs that a script carries, or that its manifest has beside it.

A repository of many scripts has its text once: they name the file `.jobgen/keeper-HASH.py`. A
script refuses a file with another hash.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path


import hashlib
import os


_KEEP = "sys.exit(keep(float(sys.argv[2]), sys.argv[4], sys.argv[5:], step))\n"
_LEAD = """is_lead = sys.argv[1] == "lead"
sys.exit(Lead(*sys.argv[2:]).run() if is_lead else agent(sys.argv[2], *sys.argv[4:6], step))
"""


@functools.cache
def keeper_text(with_lead: bool, with_orders: bool = True, hears_end: bool = False) -> str:
    """The program FILE: `FILE keep …`, or with the lead `FILE lead …` and `FILE agent …`.

    With orders, or with hears_end alone, it ends its node when FOLDER/orders/end is there.
    """
    names = ["keep", *["orders"] * with_orders, *["lead"] * with_lead]
    nothing = "bool  # nothing is due each second"
    ends = 'lambda: os.path.exists(sys.argv[3] + "/orders/end")' if hears_end else nothing
    step = "obey(sys.argv[3], sys.argv[4]).__next__" if with_orders else ends
    parts = [(Path(__file__).parent / f"{name}.py").read_text() for name in names]
    parts = [re.sub(r"(?m)^from (jobgen|collections)\..*\n", "", part).strip() for part in parts]
    text = "\n\n".join(parts)  # only quoted types are of collections.abc
    # An empty line less before each function, and none within a class.
    text = re.sub(r"\n(?=\n\n)|\n(?=\n    def |\nimport )", "", text)
    return f"{text}\n\nstep = {step}\n{_LEAD if with_lead else _KEEP}"


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
