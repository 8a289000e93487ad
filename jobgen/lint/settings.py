"""What the user chose: which rules, and the profile of the scripts' cluster."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache

from jobgen.errors import problem
from jobgen.lint.rules import Check, checks
from jobgen.profiles.model import Profile


@dataclass(frozen=True)
class Settings:
    """The options of the command line, or the values of a configuration.

    `select`, `ignore` and `also` have codes, or beginnings of codes.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    profile: str | None = None
    also: tuple[str, ...] = ()
    file: str = ""  # the configuration, if they come from one


@cache
def chosen_checks(settings: Settings) -> list[Check]:
    """The checks of the rules that are searched for, sorted by code."""
    selected = codes_of("select", settings.select)
    ignored = codes_of("ignore", settings.ignore)
    named = selected | codes_of("also", settings.also)
    return [
        check
        for code, check in checks().items()
        if code not in ignored and (code in named or (not settings.select and not check.optional))
    ]


def codes_of(place: str, beginnings: Iterable[str]) -> set[str]:
    """The codes with one of the beginnings, which may be separated by commas.

    Raises JobgenError if no code begins with one of them; `place` is where they come from.
    """
    codes: set[str] = set()
    for text in (part.strip().upper() for each in beginnings for part in each.split(",")):
        found = {code for code in checks() if text and code.startswith(text)}
        if not found:
            near = get_close_matches(text, checks(), 1, 0.5)
            hint = f"did you mean {near[0]}?" if near else "see `jobgen rules`"
            raise problem(place, f"there is no rule {text!r:.30}", "usage", hint)
        codes |= found
    return codes


@cache
def load_profile(name: str) -> Profile:
    """A profile, by its name or path. Raises JobgenError."""
    from jobgen.generator import find_profiles  # it takes a while to import

    return find_profiles().load(name).profile
