"""What there is to name: by file names alone, so that no broken file is in the way."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from jobgen.bundled import bundled
from jobgen.errors import tell
from jobgen.paths import HERE, is_file, leads_out, users, walked

TRAINERS = Path(__file__).parent / "trainers"
RULES = Path(__file__).parent / "lint/rules"
MOST = 10_000  # names in a folder of profiles, and in those below it


def folders(within: Path = HERE) -> list[Path]:
    """Where profiles are looked for, in order, by a jobgen that runs in the folder `within`."""
    listed = [Path(p) for p in os.environ.get("JOBGEN_PROFILES", "").split(os.pathsep) if p]
    return [within / "profiles", *listed, user_folder() / "profiles", bundled("profiles")]


def user_folder() -> Path:
    """The user's own settings: $XDG_CONFIG_HOME/jobgen, else ~/.config/jobgen."""
    return users("XDG_CONFIG_HOME", ".config")


@cache  # once a run
def say_hidden(path: Path) -> None:
    """Say that a project's file is used where jobgen has one: who cloned it may not know."""
    tell(f"{path} is used instead of jobgen's own {path.stem.partition('.')[0]}")


def profiles(within: Path = HERE, confined: bool = False) -> dict[str, Path]:
    """Every profile's name with the file that it stands for; fabrics and other folders too.

    With `confined`, none of a folder that is a link out of `within`: its names are others'.
    """
    found: dict[str, Path] = {}
    own, *others = folders(within)
    for folder in others if confined and leads_out(own, within) else (own, *others):
        for file in sorted(filter(is_file, _below(folder))):  # a link to nowhere is none
            found.setdefault(file.relative_to(folder).with_suffix("").as_posix(), file)
    return found


def _below(top: Path) -> list[Path]:
    """The profiles below a folder, so far as MOST goes: it may be a link to all that there is."""
    found: list[Path] = []
    seen = 0
    for folder, folders, files in walked(top, lambda _: None):
        found += [Path(folder, file) for file in files if file.endswith(".yaml")]
        seen += len(folders) + len(files)
        if seen > MOST:
            break
    return found


@cache  # they come with jobgen, and stay as they are while it runs
def trainers() -> list[str]:
    """The packaged trainers, sorted."""
    return sorted(path.stem for path in TRAINERS.glob("*.py") if path.stem != "__init__")


def templates() -> list[str]:
    """The bundled templates, sorted."""
    return sorted(path.name for path in bundled("templates").glob("*.j2"))


def rules() -> list[str]:
    """The codes of lint's rules, sorted."""
    return sorted(path.stem.partition("_")[0].upper() for path in RULES.glob("jg*.py"))
