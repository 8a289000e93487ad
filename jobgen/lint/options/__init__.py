"""The options that the commands of job scripts have, and the versions that have them.

Each tool has a text, which packaging/options.py makes from the tool's sources. Below the name of a
command, a line has an option: `--gpus= -G since 19.05` takes a value; `--nice[=]` takes one only
behind the =; without `since` and `until`, all versions that were read have the option. Not here:
the values that options take (option_values/), and the meaning of options.
"""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import NamedTuple

from jobgen.errors import nearest_hint, problem

# What --for may name: the text of a tool, and the name that messages use.
TOOLS = {
    "slurm": ("slurm", "Slurm"),
    "openpbs": ("openpbs", "OpenPBS"),
    "pbspro": ("openpbs", "PBS Pro"),
    "torque": ("torque", "Torque"),
    "torch": ("torch", "torch"),
    "accelerate": ("accelerate", "accelerate"),
    "deepspeed": ("deepspeed", "deepspeed"),
}
_TOOLS_OF = {
    **dict.fromkeys(("sbatch", "salloc", "srun"), ("slurm",)),
    **dict.fromkeys(("qsub", "qsub -l"), ("openpbs", "torque")),
    "torchrun": ("torch",),
    "accelerate launch": ("accelerate",),
    "deepspeed": ("deepspeed",),
}
Versions = tuple[tuple[str, str], ...]  # names in TOOLS, each with the version that is asked for


class Option(NamedTuple):
    """An option; `argument` is "=", "[=]" or "". `since` and `until` are empty for no bound."""

    name: str  # without its hyphens
    argument: str
    letter: str
    since: str
    until: str


@dataclass(frozen=True)
class Options:
    """The options of a command by their names, and the versions of its tool, oldest first."""

    versions: tuple[str, ...]
    by_name: dict[str, Option]

    @cached_property
    def newest(self) -> dict[str, Option]:
        """The options that the newest version has."""
        return {name: each for name, each in self.by_name.items() if not each.until}

    @cached_property
    def letters(self) -> dict[str, Option]:
        """The options of the newest version that have a letter, by their letters."""
        return {each.letter: each for each in self.newest.values() if each.letter}

    def of(self, version: str) -> "Options":
        """The options that one version has, as if it were the newest."""
        place = self.versions.index
        having = {
            name: each._replace(until="")
            for name, each in self.by_name.items()
            if (not each.since or place(each.since) <= place(version))
            and (not each.until or place(version) <= place(each.until))
        }
        return Options(self.versions, having)

    def find(self, name: str) -> Option | None:
        """The option that a name means: its own, or the only one that begins with it.

        getopt_long(3) and argparse accept such a beginning. The newest version counts before the
        others: there, `--tasks` is the beginning of --tasks-per-node.
        """
        for options in (self.newest, self.by_name):
            if found := options.get(name):
                return found
            beginning = {
                key.replace("_", "-"): each for key, each in options.items() if key.startswith(name)
            }
            if len(beginning) == 1:
                return beginning.popitem()[1]
        return None

    def nearest(self, name: str, cutoff: float = 0.85) -> str:
        """The option whose name is most like `name`; "" if there is none."""
        from difflib import get_close_matches  # slow to import

        return next(iter(get_close_matches(name, self.newest, 1, cutoff)), "")


@cache
def known_options(command: str) -> Options:
    """The options that a command has in any version; for qsub, in OpenPBS or in Torque."""
    tables = [_read(tool)[command] for tool in _TOOLS_OF[command]]
    merged = {name: each for table in tables for name, each in table.by_name.items()}
    return Options(tables[0].versions, merged)


@cache
def asked_for(command: str, versions: Versions) -> list[tuple[str, Options, Options]]:
    """Each tool and version, as a text, that the user asks for and that has a command.

    Behind it are the options of all versions, and those of that version.
    """
    return [
        (f"{TOOLS[name][1]} {version}", options, options.of(version))
        for name, version in versions
        if TOOLS[name][0] in _TOOLS_OF[command]
        for options in [_read(TOOLS[name][0])[command]]
    ]


def read_versions(place: str, texts: Iterable[str]) -> Versions:
    """The versions that texts such as slurm=23.11 ask for; a name alone means the newest.

    So does a version that is newer than the newest which was read. Raises JobgenError for a tool
    or a version that is not known; `place` is to blame.
    """
    versions: dict[str, str] = {}
    for text in texts:
        name, _, version = text.strip().lower().partition("=")
        if name not in TOOLS:
            wrong = f"{text!r:.40} names no tool"
            raise problem(place, wrong, "usage", nearest_hint(name, TOOLS))
        releases = next(iter(_read(TOOLS[name][0]).values())).versions
        version = ".".join((version or releases[-1]).split(".")[:2])
        if _number(version) > _number(releases[-1]):
            version = releases[-1]
        if version not in releases:
            wrong = f"no {TOOLS[name][1]} {version!r:.20} is known"
            raise problem(place, wrong, "usage", _nearest_hint(version, releases))
        if name in versions:
            raise problem(place, f"it names {name} twice", "usage", "give one version of it")
        versions[name] = version
    return tuple(versions.items())


def _number(version: str) -> int:
    """A version such as 23.11 as a number that is larger for newer ones; 0 if it is none."""
    found = re.fullmatch(r"(\d{1,6})(?:\.(\d{1,6}))?", version)
    return int(found[1]) * 10**6 + int(found[2] or 0) if found else 0


def _nearest_hint(version: str, releases: Sequence[str]) -> str:
    if not (number := _number(version)):
        return f"one of: {', '.join(releases)}"
    nearest = min(releases, key=lambda release: abs(_number(release) - number))
    return f"the oldest is {nearest}" if nearest == releases[0] else f"did you mean `{nearest}`?"


@cache
def _read(tool: str) -> dict[str, Options]:
    """The options of a tool's commands."""
    file = os.path.join(os.path.dirname(__file__), f"{tool}.txt")
    with open(file, encoding="utf-8") as stream:
        _, versions, *parts = stream.read().split("\n\n")
    commands = {}
    for command, *lines in (part.strip().split("\n") for part in parts):
        options = [_option(*line.split(" ")) for line in lines]
        commands[command] = Options(
            tuple(versions.split()[1:]), {each.name: each for each in options}
        )
    return commands


def _option(spelling: str, *words: str) -> Option:
    argument = next((each for each in ("[=]", "=") if spelling.endswith(each)), "")
    name = spelling.removesuffix(argument).lstrip("-")
    letter = words[0][1:] if words and words[0].startswith("-") else ""
    bounds = dict(pairwise(words))
    return Option(name, argument, letter, bounds.get("since", ""), bounds.get("until", ""))
