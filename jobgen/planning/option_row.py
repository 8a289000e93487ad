"""A row that describes a command-line option."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

BATCH = frozenset({"sbatch", "qsub"})
REQUEST = BATCH | {"interactive"}
SCRIPT = BATCH | {"local"}
BYHAND = frozenset({"byhand"})
RANKS = SCRIPT | BYHAND
ALL = RANKS | REQUEST

# The headings of --help and of the manual, in their order.
GROUPS = ("Cluster", "Size and time", "Job", "Program", "Launch", "Output", "Other")


class Option(NamedTuple):
    """A command-line option: its spellings, its help, and the heading that it is listed under.

    An option without a metavar takes no value; it means `flag_value`. A metavar names what
    completion offers (PROFILE, TRAINER, FILE …), or lists it in small letters. `path` is the value
    of the profile that the option sets; `commands` are the commands that have it; the values of a
    `repeatable` option are a tuple. `example` is a sample value, which may differ by command.
    `label` is its name in a form, if its field's is not good enough.
    """

    flags: tuple[str, ...]
    help: str
    group: str
    metavar: str = ""
    path: str = ""
    commands: frozenset[str] = ALL
    repeatable: bool = False
    flag_value: str = "true"
    example: str | Mapping[str, str] = ""
    label: str = ""

    @property
    def placeholder(self) -> str:
        """What stands for its value in a hint: the first word of the metavar."""
        return re.split(r"[|[]", self.metavar)[0]

    @property
    def for_click(self) -> dict[str, Any]:
        """The arguments of click.Option that say how its value is read."""
        if self.metavar:
            return {"metavar": self.metavar, "multiple": self.repeatable}
        return {"is_flag": True, "flag_value": self.flag_value, "default": None}

    @property
    def is_list(self) -> bool:
        """Whether its value may be a list, which is joined by commas."""
        return "," in self.metavar or self.metavar.startswith("LIST")


def option(group: str, spelling: str, help: str, **more: Any) -> Any:
    """A field of Job that is an option, spelled as in a manual: `-N --nodes N`."""
    words = spelling.split(" ")
    metavar = "" if words[-1].startswith("-") else words.pop()
    return Option(tuple(words), help, group, metavar, **more)
