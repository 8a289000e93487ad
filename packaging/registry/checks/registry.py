"""The files of the registry, and the reports that become issues, for the checks beside this file.

Only PyYAML and the standard library, since PyYAML comes with jobgen.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).resolve().parent.parent
PROFILES = ROOT / "profiles"
_LINE = re.compile(r"((?:sites|machines|fabrics)/[\w.-]+) (@[\w-]+/[\w.-]+)")


class Report(NamedTuple):
    """What an issue says. An empty text means that all is well: an open issue is closed.

    It stays open if not everything could be read.
    """

    title: str
    text: str
    is_whole: bool = True


def existing_file(word: str) -> Path:
    """A file that a command line names, for argparse."""
    file = Path(word).resolve()
    if not file.is_file():
        raise argparse.ArgumentTypeError(f"{word}: no such file")
    return file


def profile_files() -> list[Path]:
    """All profiles, in the order of their names."""
    return [file for file in sorted(PROFILES.glob("*/*.yaml")) if file.parent.name != "proofs"]


def name_of(file: Path) -> str:
    """The name of a profile, such as sites/lumi-g."""
    return f"{file.parent.name}/{file.stem}"


def read(file: Path) -> dict[str, Any]:
    """A profile as it is written: each value is text, also a number or a day."""
    return yaml.load(file.read_text(encoding="utf-8"), yaml.BaseLoader) or {}


def maintainers() -> dict[str, str]:
    """The team of each profile that has one. ValueError for a line that is none."""
    teams = {}
    lines = (ROOT / "MAINTAINERS").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith("#"):
            found = _LINE.fullmatch(line.strip())
            if not found:
                raise ValueError(f"MAINTAINERS:{number}: expected `sites/NAME @ORGANISATION/TEAM`")
            if not (PROFILES / f"{found[1]}.yaml").is_file():
                near = get_close_matches(found[1], map(name_of, profile_files()), 1)
                hint = f"did you mean `{near[0]}`?" if near else "its file would be in profiles/"
                raise ValueError(f"MAINTAINERS:{number}: no profile `{found[1]}`; {hint}")
            teams[found[1]] = found[2]
    return teams


def write_reports(file: Path, reports: Iterable[Report]) -> None:
    """A file for issues.py."""
    text = json.dumps([each._asdict() for each in reports], indent=1, ensure_ascii=False)
    file.write_text(text + "\n", encoding="utf-8")


def read_reports(file: Path) -> list[Report]:
    """What `write_reports` has written."""
    return [Report(**each) for each in json.loads(file.read_text(encoding="utf-8"))]
